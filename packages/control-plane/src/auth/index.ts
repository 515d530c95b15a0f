import { type Authorizer, anyOf, mastersMay } from '../apimachinery/users/authorizer.ts';
import { administrator } from '../apimachinery/users/user.ts';
import type { Registry } from '../resources/registry.ts';
import { Authenticator, staticTokens } from './authentication/authenticator.ts';
import { bootstrapTokens } from './authentication/bootstrap-token.ts';
import { ServiceAccountTokens } from './authentication/service-account-tokens.ts';
import { certificateRequester } from './certificate-subject.ts';
import { type Impersonate, impersonation } from './impersonation/index.ts';
import { nodeVerdict } from './node-authorizer.ts';
import { RbacAuthorizer } from './rbac/authorizer.ts';
import { BindingIndex } from './rbac/bindings.ts';
import { escalationCheck } from './rbac/escalation.ts';
import { installPolicy } from './rbac/install.ts';
import { registerReviews } from './reviews/index.ts';
import { tokenReview } from './reviews/token.ts';

export interface AccessOptions {
  readonly adminToken: string;
  /** Whether an in-process request without credentials has the user of the administrator. */
  readonly trustInProcess: boolean;
  /** Signs tokens of service accounts: a P-256 key, PEM. */
  readonly serviceAccountKey: string;
}

/** Authentication and authorization. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly authorize: Authorizer;
  readonly impersonate: Impersonate;
}

/** Sets up authentication and authorization with the objects of a registry, and the review APIs. */
export function setUpAccess(
  registry: Registry,
  { adminToken, trustInProcess, serviceAccountKey }: AccessOptions,
): AccessControl {
  const { store, clock } = registry;
  installPolicy(registry);
  const rbac = new RbacAuthorizer(new BindingIndex(store));
  const authorize = anyOf(
    mastersMay,
    (access) => nodeVerdict(registry, access),
    (access) => rbac.authorize(access),
  );
  const tokens = new ServiceAccountTokens(registry, serviceAccountKey);
  registry.tokens = tokens;
  registry.authorize = authorize;
  const readers = [staticTokens(new Map([[adminToken, administrator]])), bootstrapTokens(store, clock)];
  const authenticator = new Authenticator([...readers, (token) => tokens.read(token)], trustInProcess);
  registerReviews(registry, authorize, rbac);
  registry.reviews.set('authentication.k8s.io/tokenreviews', tokenReview(tokens, readers));
  registry.admission.add(certificateRequester);
  registry.admission.add(escalationCheck({ rbac, authorize }));
  return {
    authenticator,
    authorize,
    impersonate: impersonation(authorize),
  };
}
