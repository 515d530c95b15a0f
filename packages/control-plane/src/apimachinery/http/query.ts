const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;

/** Parses a query like `url.ParseQuery` of Go. */
export function queryOf(target: string): URLSearchParams {
  const mark = target.indexOf('?');
  const text = mark < 0 ? '' : target.slice(mark + 1);
  if (!text.includes(';') && !BAD_ESCAPE.test(text)) return new URLSearchParams(text);
  const readable = text.split('&').filter((parameter) => !parameter.includes(';') && !BAD_ESCAPE.test(parameter));
  return new URLSearchParams(readable.join('&'));
}
