import type { Authorizer } from '../../apimachinery/users/authorizer.ts';
import type { Registry } from '../../resources/registry.ts';
import type { RbacAuthorizer } from '../rbac/authorizer.ts';
import { accessReview } from './access.ts';
import { rulesReview } from './rules.ts';
import { selfReview } from './self.ts';

export function registerReviews(registry: Registry, authorize: Authorizer, rbac: RbacAuthorizer): void {
  const { reviews } = registry;
  reviews.set('authorization.k8s.io/selfsubjectaccessreviews', accessReview(authorize, 'self'));
  reviews.set('authorization.k8s.io/subjectaccessreviews', accessReview(authorize, 'subject'));
  reviews.set('authorization.k8s.io/localsubjectaccessreviews', accessReview(authorize, 'local'));
  reviews.set('authorization.k8s.io/selfsubjectrulesreviews', rulesReview(rbac));
  reviews.set(
    'authentication.k8s.io/selfsubjectreviews',
    selfReview(() => registry.now()),
  );
}
