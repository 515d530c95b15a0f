const HEADER = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/;

/** Returns a text as a string of TOML. */
export const tomlString = (text: string): string => JSON.stringify(text);

/** Sets a key in a TOML text. */
export function setTomlKey(text: string, table: string, key: string, value: string): string {
  const lines = text.split('\n');
  const line = `${key} = ${value}`;
  const start = lines.findIndex((one) => HEADER.exec(one)?.[1]?.trim() === table);
  if (start < 0) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${table}]\n${line}\n`;
  const following = lines.findIndex((one, index) => index > start && /^\s*\[/.test(one));
  const end = following < 0 ? lines.length : following;
  const own = lines.findIndex((one, index) => index > start && index < end && keyOf(one) === key);
  return (own < 0 ? lines.toSpliced(start + 1, 0, line) : lines.with(own, line)).join('\n');
}

const keyOf = (line: string): string | undefined => /^\s*([\w-]+)\s*=/.exec(line)?.[1];
