// Texts that are shown with less than the contrast of WCAG AA over what lies behind them.
() => {
  const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = pixel.getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const behind = (element) =>
    element ? over(parse(getComputedStyle(element).backgroundColor), behind(element.parentElement)) : [255, 255, 255];
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);

  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const isData = element.closest("script, style, .role-mark");
    if (isData || !walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const picture = element.closest("svg");
    const paper = behind(picture?.parentElement ?? element);
    const [a, b] = [light(over(parse(picture ? style.fill : style.color), paper)), light(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...poor];
}
