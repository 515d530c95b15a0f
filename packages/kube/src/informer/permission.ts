/** What a request needs a role for, as RBAC names it. */
export interface Permission {
  readonly verb: string;
  /** With its subresource: `machines/status`. */
  readonly resource: string;
  /** '' for the core group. */
  readonly group: string;
}

const RESOURCE =
  /^\/(?:api\/v[^/]+|apis\/(?<group>[^/]+)\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/(?<resource>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<sub>.+))?)?$/;

const OF_OBJECT: Readonly<Record<string, string>> = {
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  POST: 'create',
};
const OF_COLLECTION: Readonly<Record<string, string>> = { GET: 'list', POST: 'create', DELETE: 'deletecollection' };

/** The permission that a request needs; undefined where it is about no resource. */
export function permissionOf(method: string, target: string): Permission | undefined {
  const [path = '', query = ''] = target.split('?', 2);
  const parts = RESOURCE.exec(path)?.groups;
  if (parts?.resource === undefined) return undefined;
  const { group = '', resource, name, sub } = parts;
  const watches = method === 'GET' && /(^|&)watch=(true|1)(&|$)/.test(query);
  const verb = watches ? 'watch' : (name === undefined ? OF_COLLECTION : OF_OBJECT)[method];
  return verb === undefined
    ? undefined
    : { verb, resource: sub === undefined ? resource : `${resource}/${sub}`, group };
}

/** How the API server words a refusal of its authorizer; admission refuses with the same code in other words. */
const REFUSED = /cannot (?<verb>\S+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"/;

/** What the authorizer refused; undefined for any other refusal. */
export function refusedPermission(message: string): Permission | undefined {
  const parts = REFUSED.exec(message)?.groups;
  const { verb, resource, group } = parts ?? {};
  return verb === undefined || resource === undefined || group === undefined ? undefined : { verb, resource, group };
}

/** `list nodes`, `patch machines/status.machine.sapcloud.io`. */
export const permissionText = ({ verb, resource, group }: Permission): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}`;

/** What a role has to hold, as its `rules` are written. */
export const grantText = ({ verb, resource, group }: Permission): string =>
  `{apiGroups: [${group === '' ? '""' : group}], resources: [${resource}], verbs: [${verb}]}`;
