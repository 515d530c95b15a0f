import { certificateRequester } from '../admission/certificate-subject.ts';
import type { Registry } from '../registry/registry.ts';
import { Authenticator, staticTokens } from './authenticator.ts';
import { type Authorizer, anyOf, mastersMay } from './authorizer.ts';
import { bootstrapTokens } from './bootstrap-token.ts';
import { RbacAuthorizer } from './rbac/authorizer.ts';
import { BindingIndex } from './rbac/bindings.ts';
import { installPolicy } from './rbac/install.ts';
import { registerReviews } from './reviews/index.ts';
import { administrator } from './user.ts';

export interface AccessOptions {
  readonly adminToken: string;
  /** Whether a request in process without credentials is the administrator's. */
  readonly trustInProcess: boolean;
}

/** Who somebody is, and what they may do. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly authorize: Authorizer;
}

/** Sets up authentication and authorization over the objects of a registry, and the reviews by which clients ask for them. */
export function setUpAccess(registry: Registry, { adminToken, trustInProcess }: AccessOptions): AccessControl {
  const { store, clock } = registry;
  installPolicy(registry);
  const rbac = new RbacAuthorizer(new BindingIndex(store));
  const authorize = anyOf(mastersMay, (access) => rbac.authorize(access));
  const authenticator = new Authenticator(
    [staticTokens(new Map([[adminToken, administrator]])), bootstrapTokens(store, clock)],
    trustInProcess,
  );
  registerReviews(registry, authorize, rbac);
  registry.admission.add(certificateRequester);
  return { authenticator, authorize };
}
