/** Symbols in the output of commands, and their replacements in ASCII. */
const SIGNS: Readonly<Record<string, string>> = {
  '├─': '|-',
  '└─': '`-',
  '│': '|',
  '–': '-',
  '×': 'x',
  '…': '...',
  '●': '*',
  '█': '#',
  '░': '.',
  '’': "'",
};

/** Replaces these symbols. Other characters in names and messages remain. */
export const ascii = (text: string): string => text.replace(/[├└]─|[│–×…●█░’]/g, (sign) => SIGNS[sign] ?? sign);

/** Whether the locale supports only ASCII, as in C and POSIX. Without a locale, the answer is false. */
export function isAscii(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => value) ?? '';
  return locale !== '' && !/utf-?8/i.test(locale);
}
