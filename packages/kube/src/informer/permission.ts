/** The permission for one verb on one resource, as in RBAC. */
export interface Permission {
  readonly verb: string;
  /** The resource with its subresource, such as `machines/status`. */
  readonly resource: string;
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

/** Returns the permission that a request needs, or undefined if the path does not belong to a resource. */
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

/** Matches the message of the Kubernetes authorizer about a missing permission. */
const REFUSED = /cannot (?<verb>\S+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"/;

/** Returns the missing permission that caused the error, or undefined for any other error. */
export function refusedPermission(message: string): Permission | undefined {
  const parts = REFUSED.exec(message)?.groups;
  const { verb, resource, group } = parts ?? {};
  return verb === undefined || resource === undefined || group === undefined ? undefined : { verb, resource, group };
}

/** Returns a text such as `list nodes` or `patch machines/status.machine.sapcloud.io`. */
export const permissionText = ({ verb, resource, group }: Permission): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}`;

/** Returns the RBAC rule that grants the permission. */
export const grantText = ({ verb, resource, group }: Permission): string =>
  `{apiGroups: [${group === '' ? '""' : group}], resources: [${resource}], verbs: [${verb}]}`;
