"use strict";
(() => {
  // Panels side by side are made as wide as the screen allows; the page never scrolls sideways,
  // only a chart with too many panels does, in its own box.
  const SHARE_OF_LABELS = 0.36;
  // Below this width lists of panels stand in one column.
  const NARROW = 560;
  // Of a legend's names, that stand in so many columns there.
  const NAME = 130;
  const fitted = (spec, room) => {
    const fit = { ...spec.usermeta.fit };
    if (fit.stack && room < NARROW && fit.columns > 1) {
      fit.gutter = fit.gutter / fit.columns;
      fit.columns = 1;
    }
    const label = Math.min(fit.label, Math.floor(room * SHARE_OF_LABELS));
    const share = Math.floor((room - fit.gutter + fit.label - label) / fit.columns - fit.gap);
    const sizes = {
      width: [fit.panel, Math.max(fit.least, fit.most ? Math.min(share, fit.most) : share)],
      labelLimit: [fit.label, label], minExtent: [fit.label, label], maxExtent: [fit.label, label],
    };
    const walk = (node) => {
      if (Array.isArray(node)) return node.map(walk);
      if (node === null || typeof node !== "object") return node;
      const copy = {};
      for (const [key, value] of Object.entries(node))
        copy[key] = sizes[key] && sizes[key][0] === value ? sizes[key][1]
          : key === "data" ? value : walk(value);
      return copy;
    };
    const whole = walk(spec);
    if (room < NARROW) {
      const config = whole.config ?? {};
      const columns = Math.max(1, Math.floor(room / NAME));
      whole.config = { ...config, legend: { ...config.legend, columns } };
    }
    return fit.stack && "columns" in spec ? { ...whole, columns: fit.columns } : whole;
  };
  const draw = async (box) => {
    const room = box.clientWidth;
    if (!room || Number(box.dataset.room) === room) return;
    box.dataset.room = room;
    const spec = JSON.parse(document.getElementById(box.dataset.spec).textContent);
    // Expressions are interpreted, not compiled: the page's policy forbids to evaluate text.
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, hover: false, logLevel: 1 };
    try {
      await window.vegaEmbed(box, fitted(spec, room), options);
      box.dataset.drawn = "yes";
    } catch (error) {
      box.dataset.drawn = "no";
      console.error(`${box.dataset.spec}: ${error}`);
    }
  };
  const all = [...document.querySelectorAll(".chart")];
  const drawAll = async () => { for (const box of all) await draw(box); };
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  drawAll();
})();
