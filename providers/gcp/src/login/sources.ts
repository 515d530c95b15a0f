import { ConfigError } from '@mcm/kube';

/** The token sources that Secrets may use. Only the operator can extend this list. */
export interface AllowedSources {
  /** The files that Secrets may use. If a path is a folder, all its files are allowed. */
  readonly paths: readonly string[];
  readonly origins: readonly string[];
  /** Whether Secrets may use the AWS identity of the controller. */
  readonly aws: boolean;
  /** Whether Secrets may use service accounts from the metadata server of the controller's host. */
  readonly metadata: boolean;
}

/** Allows no token source except the workload token file of Gardener. */
export const NO_SOURCES: AllowedSources = { paths: [], origins: [], aws: false, metadata: false };

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Parses the flag `--credential-sources`.
 * @param name The name of the flag or variable
 * @throws ConfigError with the invalid entry
 */
export function readSources(name: string, text: string): AllowedSources {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
  const wrong = entries.find((entry) => !['aws', 'metadata'].includes(entry) && !isPath(entry) && !isOrigin(entry));
  if (wrong !== undefined)
    throw new ConfigError(
      `${name}: "${wrong}" is not a source: write an absolute path, an origin such as https://host, aws, or metadata`,
    );
  return {
    paths: entries.filter(isPath),
    origins: entries.filter(isOrigin).map((entry) => new URL(entry).origin),
    aws: entries.includes('aws'),
    metadata: entries.includes('metadata'),
  };
}

const isPath = (entry: string): boolean => entry.startsWith('/') && !entry.includes('/../');

function isOrigin(entry: string): boolean {
  const url = URL.parse(entry);
  if (url?.username !== '' || url.pathname !== '/' || url.search !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}

export const allowsPath = ({ paths }: AllowedSources, file: string): boolean =>
  isPath(file) && paths.some((path) => file === path || file.startsWith(path.endsWith('/') ? path : `${path}/`));

/**
 * Returns true if the URL is allowed. A URL with a user or a password is refused, because both would be sent to the
 * server and would appear in logs.
 */
export function allowsUrl({ origins }: AllowedSources, text: string): boolean {
  const url = URL.parse(text);
  return url?.username === '' && url.password === '' && origins.includes(url.origin);
}
