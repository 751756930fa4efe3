// Heat maps as a picture: SVG made of the state, PNG made of the SVG. To the clipboard, or as a file where that is not allowed.
import { toneOf } from "./paint.js";

const LETTER = 8.2; // width of a letter of the picture's font, roughly
const LINE = 26;
const WIDE = 760;

const escaped = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "�").replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
const widthOf = (text) => [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e80 ? 2 : 1), 0) * LETTER;

// maps: [{ name, values, largest }]; one below the other
export const svgOf = (tokens, maps, hidden = () => false, rightToLeft = false) => {
  const parts = [];
  let y = 10;
  for (const { name, values, largest } of maps) {
    y += 20;
    parts.push(`<text x="12" y="${y}" font-weight="700">${escaped(name)}</text>`);
    let x = 12;
    y += LINE;
    tokens.forEach((token, i) => {
      if (hidden(i)) return;
      const wide = widthOf(token) + 6;
      if (x + wide > WIDE - 12 && x > 12) [x, y] = [12, y + LINE];
      const { depth, against } = toneOf(values[i] ?? 0, largest);
      const left = rightToLeft ? WIDE - x - wide : x;
      parts.push(`<rect x="${left.toFixed(1)}" y="${y - 16}" width="${wide.toFixed(1)}" height="22" rx="3" fill="${against ? "#2c7bd6" : "#e66101"}" fill-opacity="${depth.toFixed(3)}"/><text x="${(left + wide / 2).toFixed(1)}" y="${y}" text-anchor="middle" textLength="${(wide - 6).toFixed(1)}" lengthAdjust="spacingAndGlyphs">${escaped(token)}</text>`);
      x += wide + 3;
    });
    y += 20;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDE}" height="${y}" viewBox="0 0 ${WIDE} ${y}" font-family="Liberation Sans, Noto Sans, sans-serif" font-size="15" fill="#1b1f24"><rect width="100%" height="100%" fill="#ffffff"/>${parts.join("")}</svg>`;
};

const pngOf = async (svg) => {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, Math.min(16_000, 2 * image.height)];
    const drawing = canvas.getContext("2d");
    drawing.scale(2, 2);
    drawing.drawImage(image, 0, 0);
    return await new Promise((given) => canvas.toBlob(given, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
};

export const saveFile = (name, blob) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

// resolves to what happened, as a sentence
export const copyPicture = async (svg, kind) => {
  const blob = kind === "png" ? await pngOf(svg) : new Blob([svg], { type: "image/svg+xml" });
  try {
    if (kind === "png") await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    else await navigator.clipboard.writeText(svg);
    return `Copied as ${kind.toUpperCase()}.`;
  } catch {
    saveFile(`attention.${kind}`, blob);
    return `Saved as attention.${kind}: the browser does not allow copying here.`;
  }
};
