interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export interface RoleObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly Rule[];
}

/** Returns the permissions in roles, each as `namespace group/resource verb`. */
export const allowedBy = (roles: readonly RoleObject[]): ReadonlySet<string> =>
  new Set(
    roles.flatMap(({ metadata: { namespace = '*' }, rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${namespace} ${group}/${resource} ${verb}`)),
        ),
      ),
    ),
  );

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' };
const RESOURCE = /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

/**
 * Returns the permissions that allow a request, in the format of {@link allowedBy}. One permission is for the namespace
 * of the request, and one is for all namespaces.
 */
export function neededPermissions(method: string, path: string): readonly string[] {
  const [plain = '', query = ''] = path.split('?');
  const parts = RESOURCE.exec(plain);
  if (!parts) return [];
  const [, group = '', namespace = '*', resource = '', name, subresource] = parts;
  const read = name !== undefined ? 'get' : query.includes('watch=') ? 'watch' : 'list';
  const verb = VERBS[method] ?? read;
  const what = `${group}/${resource}${subresource ? `/${subresource}` : ''} ${verb}`;
  return [`${namespace} ${what}`, `* ${what}`];
}
