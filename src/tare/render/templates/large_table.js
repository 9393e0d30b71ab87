"use strict";
(() => {
  // Rows above and below the visible ones: a step of scrolling needs no new rows.
  const SPARE = 20;
  // Columns that rows are sorted by at most: the last one chosen, ties by the one before.
  const MOST_KEYS = 3;
  const ABSENT = "–";
  const NUMBER = "([-−+]?(?:\\d[\\d,]*(?:\\.\\d+)?|\\.\\d+))\\s*([^\\s\\d.<>=]*)";
  const RANGE = new RegExp(`^${NUMBER}\\s*(?:\\.\\.+|…|–)\\s*${NUMBER}$`);
  const BOUND = new RegExp(`^(>=|<=|≥|≤|>|<|=|)\\s*${NUMBER}$`);

  // Numbers are written as NumberFormat and units.fixed do.
  const fixed = (value, places) => {
    let text = Math.abs(value).toFixed(places);
    // Python rounds halves to even, and only exact ones are halves.
    const [, digits] = /^(.*)50*$/.exec(Math.abs(value).toFixed(places + 30)) ?? [];
    if (digits !== undefined && digits.length - digits.indexOf(".") - 1 === places
        && /[02468]\.?$/.test(digits)) text = digits.replace(/\.$/, "");
    const [whole, part] = text.split(".");
    text = whole.replace(/\B(?=(?:\d{3})+$)/g, ",") + (part ? `.${part}` : "");
    return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
  };
  const formatted = (value, { scale, places, unit }) => {
    if (value === null) return ABSENT;
    const shown = value / scale, least = 10 ** -places, size = Math.abs(shown);
    if (size === 0 || size >= least / 2) return fixed(shown, places);
    if (!unit) return `${shown > 0 ? "<" : ">"} ${fixed(Math.sign(shown) * least, places)}`;
    // Two significant digits.
    return fixed(Number(shown.toPrecision(2)), Math.min(100, 1 - Math.floor(Math.log10(size))));
  };
  const counted = (n) => n.toLocaleString("en-US");

  // Condition of a filter as a function of a row; null: there is none, undefined: no such filter.
  const textCondition = (typed, column) => {
    const excluded = typed.startsWith("!");
    const part = (excluded ? typed.slice(1) : typed).trim().toLowerCase();
    if (!part) return null;
    column.small ??= column.values.map((one) => (one ?? "").toLowerCase());
    return (row) => column.small[row].includes(part) !== excluded;
  };
  const choiceCondition = (typed, { choices, codes }) => {
    if (typed === "unknown") return (row) => codes[row] < 0;
    if (typed === "known") return (row) => codes[row] >= 0;
    const [, kind, name] = /^(is|not):([^]*)$/.exec(typed) ?? [];
    const code = choices.indexOf(name);
    if (code < 0) return undefined;
    return kind === "is" ? (row) => codes[row] === code : (row) => codes[row] !== code;
  };
  const numberCondition = (typed, column) => {
    const { units, scale, places, values } = column;
    const small = new Map(Object.entries(units).map(([name, size]) => [name.toLowerCase(), size]));
    const unitOf = (name) => name ? units[name] ?? small.get(name.toLowerCase()) : scale;
    const read = (number, unit) =>
      Number(number.replaceAll(",", "").replace("−", "-")) * unitOf(unit);
    const known = (test) => (row) => values[row] !== null && test(values[row]);
    const range = RANGE.exec(typed);
    if (range) {
      const [, first, unit, second, last] = range;
      const low = read(first, unit || last), high = read(second, last || unit);
      return Number.isNaN(low + high) ? undefined : known((value) => low <= value && value <= high);
    }
    const [, sign, number, unit] = BOUND.exec(typed) ?? [];
    if (number === undefined) return undefined;
    const bound = read(number, unit);
    if (Number.isNaN(bound)) return undefined;
    switch (sign) {
      case ">": return known((value) => value > bound);
      case "<": return known((value) => value < bound);
      case ">=": case "≥": return known((value) => value >= bound);
      case "<=": case "≤": return known((value) => value <= bound);
    }
    const half = scale * 10 ** -places / 2;
    return known((value) => Math.abs(value - bound) <= half);
  };
  const CONDITIONS = { text: textCondition, choice: choiceCondition, number: numberCondition };
  const conditionOf = (typed, column) => typed ? CONDITIONS[column.kind](typed, column) : null;

  // What rows are sorted by: a number each, Infinity where it is not known.
  const ranks = (column) => {
    if (column.ranks) return column.ranks;
    const { kind, values, codes } = column;
    if (kind === "number") return column.ranks = Float64Array.from(values, (v) => v ?? Infinity);
    if (kind === "choice") return column.ranks = Float64Array.from(codes, (c) => c < 0 ? Infinity : c);
    // Numbers in names stand in their order: 9 before 10.
    const names = values.map((one) =>
      one?.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(15, "0")));
    const rows = [...names.keys()].filter((row) => names[row] !== undefined);
    rows.sort((a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0);
    const found = new Float64Array(values.length).fill(Infinity);
    let rank = 0;
    rows.forEach((row, i) => {
      if (i && names[row] !== names[rows[i - 1]]) rank++;
      found[row] = rank;
    });
    return column.ranks = found;
  };

  const quoted = (text) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const exact = (column, row) => {
    if (column.kind === "choice") return column.choices[column.codes[row]] ?? "";
    const value = column.values[row] ?? "";
    return value !== "" && column.kind === "number"
      ? String(Number((value / column.scale).toPrecision(12))) : value;
  };
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Older browsers, and pages without the permission.
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };

  const start = (whole) => {
    const data = JSON.parse(whole.querySelector("[data-rows]").textContent);
    const { rows: n, columns } = data;
    const at = (name) => whole.querySelector(`[data-${name}]`);
    const [box, table, body] = [".table", "table", "tbody"].map((one) => whole.querySelector(one));
    const [differ, status] = [at("differ"), at("status")];
    const inputs = [...whole.querySelectorAll("[data-filter]")];
    const sorts = [...whole.querySelectorAll("[data-sort]")];
    const first = [...sorts].map((one) => one.closest("th").classList.contains("g"));
    const initial = data.onlyDiffering && differ !== null;
    const prefix = `${whole.dataset.id}.`;

    // Of what is chosen: columns to sort by, as [column, whether descending].
    let keys = [];
    let order, shown, count = 0;
    const passing = columns.map(() => null);

    const sort = () => {
      order = Uint32Array.from({ length: n }, (_, row) => row);
      if (!keys.length) return;
      const by = keys.map(([i, descending]) => {
        const found = ranks(columns[i]);
        return descending ? found.map((rank) => rank === Infinity ? rank : -rank) : found;
      });
      order.sort((a, b) => {
        // Infinity less Infinity is no number: neither is before the other.
        for (const one of by) { const less = one[a] - one[b]; if (less) return less; }
        return a - b;
      });
    };
    const check = (i) => {
      const condition = conditionOf(inputs[i].value.trim(), columns[i]);
      inputs[i].setAttribute("aria-invalid", condition === undefined);
      inputs[i].classList.toggle("set", Boolean(condition));
      passing[i] = condition ? Uint8Array.from({ length: n }, (_, row) => condition(row)) : null;
    };
    const filter = () => {
      // Of each choice, the rows that all other filters leave: those that choosing it shows.
      const remaining = columns.map((one) => one.choices && new Uint32Array(one.choices.length + 1));
      const choices = [...columns.keys()].filter((i) => remaining[i]);
      const active = [...columns.keys()].filter((i) => passing[i]);
      const end = differ?.checked ? data.differing : n;
      const count_ = (i, row) => { remaining[i][columns[i].codes[row] + 1]++; };
      shown = new Uint32Array(n);
      count = 0;
      for (const row of order) {
        if (row >= end) continue;
        let failing = -1, fails = 0;
        for (const i of active) if (!passing[i][row]) { failing = i; if (++fails > 1) break; }
        if (fails === 0) {
          shown[count++] = row;
          for (const i of choices) count_(i, row);
        } else if (fails === 1 && remaining[failing]) count_(failing, row);
      }
      for (const i of choices) label(i, remaining[i]);
      at("shown").textContent = `${counted(count)} of ${counted(n)} rows`;
      table.setAttribute("aria-rowcount", count + 1);
    };
    const label = (i, remaining) => {
      const all = remaining.reduce((a, b) => a + b, 0);
      const { choices } = columns[i];
      for (const option of inputs[i].options) {
        const [, kind, name] = /^(\w*):?([^]*)$/.exec(option.value);
        const own = remaining[name ? choices.indexOf(name) + 1 : 0];
        const excluded = kind === "not" || kind === "known";
        const rest = kind === "" ? all : excluded ? all - own : own;
        option.dataset.name ??= option.textContent;
        option.textContent = `${option.dataset.name} (${counted(rest)})`;
      }
    };

    // A long text is cut before its end, which differs more often.
    const cut = (text) => {
      const letters = Array.from(text);
      if (letters.length <= 40) return text;
      const made = document.createElement("div");
      made.className = "cut";
      made.title = text;
      for (const part of [letters.slice(0, -30), letters.slice(-30)])
        made.appendChild(document.createElement("span")).textContent = part.join("");
      return made;
    };
    const cell = (column, row, i) => {
      const made = document.createElement("td");
      const look = column.kind === "choice" && column.looks[column.codes[row]];
      const number = column.kind === "number";
      made.className = `${number ? "n" : ""}${first[i] ? " g" : ""}${look ? ` look ${look}` : ""}`;
      if (number) made.textContent = formatted(column.values[row], column);
      else if (column.kind === "choice") made.textContent = column.choices[column.codes[row]] ?? ABSENT;
      else made.append(cut(column.values[row] ?? ABSENT));
      return made;
    };
    const line = (place) => {
      const made = document.createElement("tr");
      made.setAttribute("aria-rowindex", place + 2);
      made.append(...columns.map((column, i) => cell(column, shown[place], i)));
      return made;
    };
    const gap = (rows) => {
      const made = document.createElement("tr");
      made.className = "gap";
      made.setAttribute("aria-hidden", "true");
      made.style.height = `${rows * height}px`;
      return made;
    };
    const nothing = () => {
      const made = document.createElement("tr");
      made.append(document.createElement("td"));
      made.firstChild.colSpan = columns.length;
      made.firstChild.textContent = "No row passes these filters.";
      return made;
    };
    let height = 0, from = 0, to = 0;
    const put = (start, end) => {
      [from, to] = [start, end];
      const lines = Array.from({ length: end - start }, (_, i) => line(start + i));
      const above = start ? [gap(start)] : [], below = end < count ? [gap(count - end)] : [];
      body.replaceChildren(...(count ? [...above, ...lines, ...below] : [nothing()]));
    };
    const show = (anew) => {
      const top = Math.floor(box.scrollTop / height);
      const bottom = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / height));
      if (!anew && top >= from && bottom <= to) return;
      put(Math.max(0, Math.min(top, count) - SPARE), Math.min(count, bottom + SPARE));
    };
    const measure = () => {
      const row = body.querySelector("tr:not(.gap)");
      height = row?.getBoundingClientRect().height || height || 28;
    };

    // What is chosen stands in the address: whoever opens it sees the same rows.
    const chosen = () => [...new URLSearchParams(location.hash.slice(1))]
      .filter(([, value]) => value !== "");
    let waiting;
    const save = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const kept = chosen().filter(([key]) => !key.startsWith(prefix));
        const own = columns.map((one, i) => [one.id, inputs[i].value.trim()]);
        const sorted = keys.map(([i, descending]) => `${descending ? "-" : ""}${columns[i].id}`);
        own.unshift(["-sort", sorted.join(",")]);
        if (differ && differ.checked !== initial) own.unshift(["-differ", differ.checked ? "1" : "0"]);
        const all = [...kept, ...own.filter(([, value]) => value)
          .map(([key, value]) => [prefix + key, value])];
        const hash = all.length ? `#${new URLSearchParams(all)}` : "";
        history.replaceState(history.state, "", location.pathname + location.search + hash);
      }, 200);
    };
    const update = () => {
      filter();
      box.scrollTop = 0;
      show(true);
      status.textContent = "";
    };
    const marked = () => sorts.forEach((one, i) => {
      const [key, descending] = keys[0] ?? [];
      const th = one.closest("th");
      if (key === i) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    const restore = () => {
      const own = new Map(chosen().filter(([key]) => key.startsWith(prefix))
        .map(([key, value]) => [key.slice(prefix.length), value]));
      if (differ) differ.checked = own.has("-differ") ? own.get("-differ") === "1" : initial;
      keys = (own.get("-sort") ?? "").split(",").map((one) =>
        [columns.findIndex(({ id }) => id === one.replace(/^-/, "")), one.startsWith("-")])
        .filter(([i]) => i >= 0).slice(0, MOST_KEYS);
      columns.forEach((column, i) => {
        inputs[i].value = own.get(column.id) ?? "";
        check(i);
      });
      marked();
      sort();
      update();
      return own.size > 0;
    };

    inputs.forEach((input, i) => input.addEventListener("input", () => {
      check(i);
      update();
      save();
    }));
    sorts.forEach((button, i) => button.addEventListener("click", () => {
      const descending = keys[0]?.[0] === i && !keys[0][1];
      keys = [[i, descending], ...keys.filter(([other]) => other !== i)].slice(0, MOST_KEYS);
      marked();
      sort();
      update();
      save();
    }));
    differ?.addEventListener("change", () => { update(); save(); });
    at("clear").addEventListener("click", () => {
      for (const input of inputs) input.value = "";
      columns.forEach((_, i) => check(i));
      if (differ) differ.checked = false;
      keys = [];
      marked();
      sort();
      update();
      save();
    });
    at("copy").addEventListener("click", async () => {
      const lines = Array.from(shown.subarray(0, count), (row) =>
        columns.map((column) => quoted(exact(column, row))).join(","));
      const text = [columns.map(({ name }) => quoted(name)).join(","), ...lines].join("\n");
      const done = await copied(`${text}\n`);
      status.textContent = done ? `${counted(count)} rows copied.` : "The browser did not copy.";
    });
    box.addEventListener("scroll", () => show(false), { passive: true });
    addEventListener("resize", () => { measure(); show(true); });
    // Links within the page choose nothing.
    addEventListener("hashchange", () => {
      if (chosen().some(([key]) => key.startsWith(prefix))) restore();
    });
    addEventListener("beforeprint", () => {
      put(0, Math.min(data.few, count));
      for (const one of body.querySelectorAll(".gap")) one.remove();
    });
    addEventListener("afterprint", () => show(true));

    for (const one of whole.querySelectorAll(".tools, .filters, .syntax")) one.hidden = false;
    whole.classList.add("live");
    measure();
    if (restore()) whole.scrollIntoView();
    // After the next frame; benchmarks and tests look for it.
    requestAnimationFrame(() => setTimeout(() => performance.mark("large-table-painted")));
  };
  for (const whole of document.querySelectorAll(".large")) start(whole);
})();
