import { badRequest } from '../../apimachinery/errors/errors.ts';
import { defined, look, text } from '../../apimachinery/objects/plain.ts';
import type { ReviewHandler } from '../../resources/registry.ts';
import { joinErrors, type RbacAuthorizer } from '../rbac/authorizer.ts';
import type { PolicyRule } from '../rbac/rules.ts';
import { answered } from './answer.ts';

const isPathRule = ({ nonResourceURLs = [] }: PolicyRule): boolean => nonResourceURLs.length > 0;

const resourceRule = ({ verbs, apiGroups, resources, resourceNames }: PolicyRule): PolicyRule =>
  defined({
    verbs,
    apiGroups,
    resources,
    resourceNames,
  });

/** Handles a SelfSubjectRulesReview. */
export const rulesReview =
  (rbac: RbacAuthorizer): ReviewHandler =>
  ({ object, call }) => {
    const namespace = text(look(object, 'spec'), 'namespace');
    if (namespace === '') throw badRequest('no namespace on request');
    const { rules, errors } = rbac.rulesFor(call.user, namespace);
    const resourceRules = rules.filter(({ resources = [] }) => resources.length > 0).map(resourceRule);
    const nonResourceRules = rules.filter(isPathRule).map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
    const status = defined({
      resourceRules,
      nonResourceRules,
      // `incomplete` is false, because the list contains all rules of all existing roles. `evaluationError` reports
      // missing roles.
      incomplete: false,
      evaluationError: errors.length === 0 ? undefined : joinErrors(errors),
    });
    return answered({ ...object, metadata: {} }, { spec: {}, status });
  };
