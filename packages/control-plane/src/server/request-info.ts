import { badRequest } from '../apimachinery/errors/errors.ts';

export interface RequestInfo {
  readonly isResource: boolean;
  /** The decoded parts of the path. */
  readonly segments: readonly string[];
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** Whether the path contains `namespaces/NAME`, which selects a namespace. */
  readonly hasNamespace: boolean;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  readonly rest: readonly string[];
  /** Whether the path has the deprecated prefix `/watch/`, which requests a watch. */
  readonly watchPrefix: boolean;
}

const NOTHING = {
  isResource: false,
  group: '',
  version: '',
  namespace: '',
  hasNamespace: false,
  resource: '',
  name: '',
  subresource: '',
  rest: [],
  watchPrefix: false,
} as const;

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path contains an invalid percent-encoding: ${segment}`);
  }
}

/** Parses the path of a request like `RequestInfoFactory` in k8s.io/apiserver. */
export function parsePath(path: string): RequestInfo {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode);
  const base = { ...NOTHING, segments };
  const [prefix, ...tail] = segments;
  let group = '';
  if (prefix === 'apis') group = tail.shift() ?? '';
  else if (prefix !== 'api') return base;
  const version = tail.shift();
  if (version === undefined || tail.length === 0) return { ...base, group, version: version ?? '' };
  const watchPrefix = tail[0] === 'watch' && tail.length > 1;
  if (watchPrefix) tail.shift();
  let namespace = '';
  let hasNamespace = false;
  // In `namespaces/NAME`, `namespaces/NAME/status` and `namespaces/NAME/finalize`, the object is the namespace itself.
  if (tail[0] === 'namespaces' && tail.length > 2 && !(tail.length === 3 && isNamespaceSubresource(group, tail[2]))) {
    namespace = tail[1] ?? '';
    hasNamespace = true;
    tail.splice(0, 2);
  }
  const [resource = '', name = '', subresource = '', ...rest] = tail;
  const ownNamespace = resource === 'namespaces' && group === '' ? name : namespace;
  return {
    isResource: true,
    segments,
    group,
    version,
    namespace: hasNamespace ? namespace : ownNamespace,
    hasNamespace,
    resource,
    name,
    subresource,
    rest,
    watchPrefix,
  };
}

const isNamespaceSubresource = (group: string, segment: string | undefined): boolean =>
  group === '' && (segment === 'status' || segment === 'finalize');
