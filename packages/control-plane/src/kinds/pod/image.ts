/** Matches a name of 64 hexadecimal digits. */
const ID = /^[a-f0-9]{64}$/;
const PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const DOMAIN = String.raw`(?:${PART}(?:\.${PART})*|\[[a-fA-F0-9:]+\])(?::\d+)?`;
const SEGMENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const DIGEST = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
const REFERENCE = new RegExp(
  String.raw`^${DOMAIN}/(?<path>${SEGMENT}(?:/${SEGMENT})*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>${DIGEST}))?$`,
);
const LONGEST_PATH = 255;

/** Adds `docker.io` to an image reference without a domain, and `library/` if necessary (`splitDockerDomain`). */
function withDomain(image: string): string {
  const slash = image.indexOf('/');
  const first = image.slice(0, Math.max(0, slash));
  if (slash === -1) return `docker.io/library/${image}`;
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first;
  return isDomain ? image : `docker.io/${image}`;
}

/** Returns whether an image has the tag `latest`, explicitly or by default. */
export function isLatestImage(image: string): boolean {
  const { path = '', tag, digest } = (ID.test(image) ? undefined : REFERENCE.exec(withDomain(image))?.groups) ?? {};
  if (path === '' || path.length > LONGEST_PATH) return false;
  return tag === undefined ? digest === undefined : tag === 'latest';
}
