import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { defineReview } from './base/define.ts';

/** The kind of the body of requests to `serviceaccounts/NAME/token`. */
export const tokenRequestKind: KindDefinition = defineReview({
  group: 'authentication.k8s.io',
  kind: 'TokenRequest',
  model: 'AuthenticationV1TokenRequest',
  plural: 'tokenrequests',
  namespaced: true,
});
