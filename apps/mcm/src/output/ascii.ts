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

/** Replaces the symbols in a text by ASCII. */
export const ascii = (text: string): string => text.replace(/[├└]─|[│–×…●█░’]/g, (sign) => SIGNS[sign] ?? sign);

/**
 * Returns true if the locale supports only ASCII, such as C and POSIX. If the environment contains no locale, the
 * terminal supports more than ASCII.
 */
export function isAscii(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => value) ?? '';
  return locale !== '' && !/utf-?8/i.test(locale);
}
