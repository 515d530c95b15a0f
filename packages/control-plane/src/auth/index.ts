import { type Authorizer, anyOf, mastersMay } from '../apimachinery/users/authorizer.ts';
import { administrator } from '../apimachinery/users/user.ts';
import type { Registry } from '../resources/registry.ts';
import { Authenticator, staticTokens } from './authentication/authenticator.ts';
import { bootstrapTokens } from './authentication/bootstrap-token.ts';
import { ServiceAccountTokens, type TokenParts } from './authentication/service-account-tokens.ts';
import { certificateRequester } from './certificate-subject.ts';
import { type Impersonate, impersonation } from './impersonation/index.ts';
import { nodeVerdict } from './node-authorizer.ts';
import { RbacAuthorizer } from './rbac/authorizer.ts';
import { BindingIndex } from './rbac/bindings.ts';
import { escalationCheck } from './rbac/escalation.ts';
import { installPolicy } from './rbac/install.ts';
import { registerReviews } from './reviews/index.ts';
import { tokenReview } from './reviews/token.ts';

/** The authorizer and the tokens are created before the registry. */
export interface Authority {
  readonly authorize: Authorizer;
  readonly tokens: ServiceAccountTokens;
  readonly rbac: RbacAuthorizer;
}

/** @param serviceAccountKey Returns the P-256 key that signs tokens of service accounts, as PEM. */
export function createAccessAuthority(parts: TokenParts, serviceAccountKey: () => string): Authority {
  const { store } = parts;
  const rbac = new RbacAuthorizer(new BindingIndex(store));
  const authorize = anyOf(
    mastersMay,
    (access) => nodeVerdict(store, access),
    (access) => rbac.authorize(access),
  );
  return { authorize, tokens: new ServiceAccountTokens(parts, serviceAccountKey), rbac };
}

export interface AccessOptions {
  readonly adminToken: string;
  /**
   * Whether a request without credentials has the permissions of the administrator, if the request comes from this
   * process.
   */
  readonly trustInProcess: boolean;
}

export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly authorize: Authorizer;
  readonly impersonate: Impersonate;
}

export function setUpAccess(
  registry: Registry,
  { authorize, tokens, rbac }: Authority,
  { adminToken, trustInProcess }: AccessOptions,
): AccessControl {
  const { store, clock } = registry;
  installPolicy(registry);
  const readers = [staticTokens(new Map([[adminToken, administrator]])), bootstrapTokens(store, clock)];
  const authenticator = new Authenticator([...readers, (token) => tokens.read(token)], trustInProcess);
  registerReviews(registry, authorize, rbac);
  registry.reviews.set('authentication.k8s.io/tokenreviews', tokenReview(tokens, readers));
  registry.admission.add(certificateRequester);
  registry.admission.add(escalationCheck({ rbac, authorize }));
  return { authenticator, authorize, impersonate: impersonation(authorize) };
}
