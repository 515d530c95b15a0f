import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { defineReview } from './base/define.ts';

export const tokenRequestKind: KindDefinition = defineReview({
  group: 'authentication.k8s.io',
  kind: 'TokenRequest',
  model: 'AuthenticationV1TokenRequest',
  plural: 'tokenrequests',
  namespaced: true,
});
