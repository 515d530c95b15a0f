/**
 * Replaces namespaces and names in a path by placeholders, so that a metric label has few values. Example:
 * `/api/v1/namespaces/{namespace}/pods/{name}`.
 */
export function templated(path: string): string {
  const end = path.indexOf('?');
  const parts = (end < 0 ? path : path.slice(0, end)).split('/');
  let at = parts[1] === 'api' ? 3 : parts[1] === 'apis' ? 4 : parts.length;
  if (parts[at] === 'namespaces' && parts.length > at + 2) {
    parts[at + 1] = '{namespace}';
    at += 2;
  }
  if (parts.length > at + 1) parts[at + 1] = '{name}';
  return parts.join('/');
}
