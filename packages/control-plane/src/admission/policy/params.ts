import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { Registry } from '../../resources/registry.ts';
import type { Binding, PolicyBase } from './policy.ts';

/** The error for missing or invalid parameters. The failure policy decides whether the server refuses the request. */
export class ParamsError extends Error {
  override readonly name = 'ParamsError';
  readonly ofPolicy: boolean;

  constructor(why: string, ofPolicy = false) {
    super(`failed to configure ${ofPolicy ? 'policy' : 'binding'}: ${why}`);
    this.ofPolicy = ofPolicy;
  }
}

/**
 * Returns the parameter objects of a binding, or `[null]` for a policy without parameters.
 * @param namespace the namespace of the request
 */
export function paramsOf(
  registry: Registry,
  policy: PolicyBase,
  { paramRef }: Binding,
  namespace: string,
): readonly (ApiObject | null)[] {
  const { paramKind } = policy;
  if (paramKind === undefined || paramRef === undefined) return [null];
  const served = registry.kinds.byKind(paramKind.apiVersion, paramKind.kind);
  if (served === undefined)
    throw new ParamsError(
      `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
      true,
    );
  const home = served.kind.namespaced ? (paramRef.namespace === '' ? namespace : paramRef.namespace) : '';
  if (served.kind.namespaced && home === '') {
    throw new ParamsError('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  }
  const { selector, where } = paramRef;
  const records =
    selector === undefined
      ? [registry.store.get(served.resource, home, paramRef.name)].filter((record) => record !== undefined)
      : registry.store
          .list(served.resource, { namespace: served.kind.namespaced ? home : undefined, where })
          .records.filter((record) => selector(record.labels ?? {}));
  if (records.length === 0 && paramRef.required) {
    throw new ParamsError('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return records.map((record) => registry.parse(served, record));
}
