/** Signs that the texts of commands are drawn with, and what represents them where there is nothing but ASCII. */
const SIGNS: Readonly<Record<string, string>> = {
  ...{ '├─': '|-', '└─': '`-', '│': '|', '–': '-', '×': 'x', '…': '...', '●': '*', '█': '#', '░': '.', '’': "'" },
};

/** The text without signs that are not ASCII; what names and messages hold next to stays. */
export const ascii = (text: string): string => text.replace(/[├└]─|[│–×…●█░’]/g, (sign) => SIGNS[sign] ?? sign);

/** Whether the locale says that the terminal knows no more than ASCII: as in C and POSIX. Nothing said says nothing. */
export function isAscii(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => value) ?? '';
  return locale !== '' && !/utf-?8/i.test(locale);
}
