import type { Opaque } from '../runtime/values.ts';
import { BOOL, opaque, STRING } from '../types/types.ts';
import { fail, method, type Overload } from './overload.ts';

export const AUTHORIZER = opaque('kubernetes.authorization.Authorizer');
export const RESOURCE_CHECK = opaque('kubernetes.authorization.ResourceCheck');
const PATH_CHECK = opaque('kubernetes.authorization.PathCheck');
const GROUP_CHECK = opaque('kubernetes.authorization.GroupCheck');
const DECISION = opaque('kubernetes.authorization.Decision');

export interface AccessQuestion {
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface AccessOracle {
  ask(question: AccessQuestion): { readonly allowed: boolean; readonly reason: string };
  as(namespace: string, name: string): AccessOracle;
}

/** Two values of the authorization library are never equal. */
abstract class AuthorizationValue implements Opaque {
  abstract readonly opaque: string;

  equals(other: unknown): boolean {
    return other === this;
  }

  toString(): string {
    return this.opaque;
  }
}

export class AuthorizerValue extends AuthorizationValue {
  readonly opaque = AUTHORIZER.kind === 'opaque' ? AUTHORIZER.name : '';
  readonly oracle: AccessOracle;

  constructor(oracle: AccessOracle) {
    super();
    this.oracle = oracle;
  }
}

const NOTHING: Omit<AccessQuestion, 'verb'> = {
  path: '',
  group: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
};

class Check extends AuthorizationValue {
  readonly opaque: string;
  readonly oracle: AccessOracle;
  readonly about: Omit<AccessQuestion, 'verb'>;

  constructor(kind: string, oracle: AccessOracle, about: Omit<AccessQuestion, 'verb'>) {
    super();
    this.opaque = kind;
    this.oracle = oracle;
    this.about = about;
  }

  with(kind: string, more: Partial<AccessQuestion>): Check {
    return new Check(kind, this.oracle, { ...this.about, ...more });
  }
}

const GROUP_NAME = 'kubernetes.authorization.GroupCheck';
const RESOURCE_NAME = 'kubernetes.authorization.ResourceCheck';

export const resourceCheck = (oracle: AccessOracle, about: Partial<AccessQuestion>): Opaque =>
  new Check(RESOURCE_NAME, oracle, { ...NOTHING, ...about });

class Decision extends AuthorizationValue {
  readonly opaque = 'kubernetes.authorization.Decision';
  readonly allowed: boolean;
  readonly reason: string;

  constructor(verdict: { readonly allowed: boolean; readonly reason: string }) {
    super();
    this.allowed = verdict.allowed;
    this.reason = verdict.reason;
  }
}

const check = (of: Check, verb: string): Decision => new Decision(of.oracle.ask({ ...of.about, verb }));

export const authorizationLibrary: readonly Overload[] = [
  method('path', [AUTHORIZER, STRING], PATH_CHECK, (of: AuthorizerValue, path: string) =>
    path === ''
      ? fail('path must not be empty')
      : new Check('kubernetes.authorization.PathCheck', of.oracle, { ...NOTHING, path }),
  ),
  method(
    'group',
    [AUTHORIZER, STRING],
    GROUP_CHECK,
    (of: AuthorizerValue, group: string) => new Check(GROUP_NAME, of.oracle, { ...NOTHING, group }),
  ),
  method(
    'serviceAccount',
    [AUTHORIZER, STRING, STRING],
    AUTHORIZER,
    (of: AuthorizerValue, namespace: string, name: string) => new AuthorizerValue(of.oracle.as(namespace, name)),
  ),
  method('resource', [GROUP_CHECK, STRING], RESOURCE_CHECK, (of: Check, resource: string) =>
    of.with(RESOURCE_NAME, { resource }),
  ),
  method('subresource', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, (of: Check, subresource: string) =>
    of.with(RESOURCE_NAME, { subresource }),
  ),
  method('namespace', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, (of: Check, namespace: string) =>
    of.with(RESOURCE_NAME, { namespace }),
  ),
  method('name', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, (of: Check, name: string) =>
    of.with(RESOURCE_NAME, { name }),
  ),
  // RBAC ignores selectors. Only the node authorizer reads selectors.
  method('fieldSelector', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, (of: Check) => of),
  method('labelSelector', [RESOURCE_CHECK, STRING], RESOURCE_CHECK, (of: Check) => of),
  method('check', [PATH_CHECK, STRING], DECISION, check),
  method('check', [RESOURCE_CHECK, STRING], DECISION, check),
  method('allowed', [DECISION], BOOL, (of: Decision) => of.allowed),
  method('reason', [DECISION], STRING, (of: Decision) => of.reason),
  method('errored', [DECISION], BOOL, () => false),
  method('error', [DECISION], STRING, () => ''),
];
