import { negativeCauses } from '../../apimachinery/errors/causes.ts';
import { invalidValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { conditionsCauses } from '../base/conditions.ts';
import { strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { intOrPercentCauses, percentCauses, selectorCauses } from './template.ts';

const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'];
const POLICIES = ['AlwaysAllow', 'IfHealthyBudget'];

export const budgetStrategy = strategy({
  prepareForCreate(object) {
    object.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
  causes(object) {
    const spec = look(object, 'spec');
    const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
    const causes: StatusCause[] = [];
    if (minAvailable !== undefined && maxUnavailable !== undefined) {
      causes.push(
        invalidValue(
          'spec',
          internalForm('PodDisruptionBudgetSpec', spec),
          'minAvailable and maxUnavailable cannot be both set',
        ),
      );
    }
    for (const [field, value] of Object.entries({ minAvailable, maxUnavailable })) {
      causes.push(...intOrPercentCauses(`spec.${field}`, value), ...percentCauses(`spec.${field}`, value));
    }
    causes.push(...selectorCauses(selector, 'spec.selector'));
    if (typeof unhealthyPodEvictionPolicy === 'string' && !POLICIES.includes(unhealthyPodEvictionPolicy)) {
      causes.push(unsupportedValue('spec.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, POLICIES));
    }
    return causes;
  },
  statusCauses: ({ status }) => [
    ...conditionsCauses(status),
    ...COUNTS.flatMap((count) => negativeCauses(`status.${count}`, look(status)[count])),
  ],
});
