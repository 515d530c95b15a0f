export interface PromqlNames {
  readonly metrics: ReadonlyMap<string, readonly string[]>;
  readonly grouped: readonly string[];
}

const WORDS = new Set([
  'by',
  'without',
  'and',
  'or',
  'unless',
  'on',
  'ignoring',
  'bool',
  'offset',
  'group_left',
  'group_right',
]);
const NAME = /[a-zA-Z_:][\w:]*/y;

/** Returns the metrics, labels and groups in a PromQL expression. */
export function namesIn(expr: string): PromqlNames {
  const metrics = new Map<string, string[]>();
  const grouped: string[] = [];
  const text = expr.replaceAll(/\[[^\]]*\]/g, '');
  const groups = text.replaceAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, labels: string) => {
    grouped.push(...labels.split(',').map((label) => label.trim()));
    return ' ';
  });
  for (let at = 0; at < groups.length; ) {
    NAME.lastIndex = at;
    const name = /[\w:]/.test(groups[at - 1] ?? '') ? undefined : NAME.exec(groups)?.[0];
    if (name === undefined) {
      at = groups[at] === '"' ? groups.indexOf('"', at + 1) + 1 : at + 1;
      continue;
    }
    at += name.length;
    const rest = groups.slice(at).trimStart();
    if (rest.startsWith('(') || WORDS.has(name)) continue;
    const selector = rest.startsWith('{') ? rest.slice(1, rest.indexOf('}')) : '';
    const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"/g)].map(([, label = '']) => label);
    metrics.set(name, [...(metrics.get(name) ?? []), ...labels]);
    if (selector !== '') at = groups.indexOf('}', at) + 1;
  }
  return { metrics, grouped };
}
