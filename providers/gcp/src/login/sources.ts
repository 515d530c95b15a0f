import { ConfigError } from '@mcm/kube';

/** The places of which a Secret may name one as the source of its tokens: decided by the operator, never by the Secret. */
export interface AllowedSources {
  /** Files, and folders with all that is in them. */
  readonly paths: readonly string[];
  /** Origins of URLs. */
  readonly origins: readonly string[];
  /** The AWS identity of the controller. */
  readonly aws: boolean;
  /** The service accounts that the metadata server of the controller's host has. */
  readonly metadata: boolean;
}

/** No token source except the file of Gardener's workload identity. */
export const NO_SOURCES: AllowedSources = { paths: [], origins: [], aws: false, metadata: false };

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Reads `--credential-sources`.
 * @param name Of the flag or variable
 * @throws ConfigError that names the entry
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

/** Whether a file is one of the allowed ones, or in an allowed folder. */
export const allowsPath = ({ paths }: AllowedSources, file: string): boolean =>
  isPath(file) && paths.some((path) => file === path || file.startsWith(path.endsWith('/') ? path : `${path}/`));

/** Whether a URL is of an allowed origin. A user or password in it would be sent, and would stand in logs. */
export function allowsUrl({ origins }: AllowedSources, text: string): boolean {
  const url = URL.parse(text);
  return url?.username === '' && url.password === '' && origins.includes(url.origin);
}
