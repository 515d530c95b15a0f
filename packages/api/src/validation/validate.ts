import * as z from 'zod';
import { machineSpecSchema } from '../kinds/machine.ts';
import { machineClassSchema } from '../kinds/machine-class.ts';
import { machineDeploymentSpecSchema } from '../kinds/machine-deployment.ts';
import { machineSetSpecSchema } from '../kinds/machine-set.ts';
import { type FieldError, formErrors, invalid, type Rule, required, rule, specErrors } from './field-error.ts';
import { machineClassRule, selectorRule, templateClassRule } from './rules.ts';
import { strategyRules } from './strategy-rules.ts';

/**
 * Returns the errors in the name and spec of a Machine. The API server already checks unknown fields, the status and
 * other metadata of a Machine.
 */
export function validateMachine(object: unknown): FieldError[] {
  return [...nameRule(object), ...specErrors(object, machineSpecSchema, [machineClassRule])];
}

const nameRule: Rule = rule(z.object({ metadata: z.object({ name: z.string() }) }), ({ metadata }) =>
  metadata.name.length > 63
    ? [
        invalid(
          'metadata.name',
          'must be at most 63 characters long, because the name becomes a label value on the Node',
        ),
      ]
    : [],
);

/** Returns the errors in the spec of a MachineSet. */
export const validateMachineSet = (object: unknown): FieldError[] =>
  specErrors(object, machineSetSpecSchema, [selectorRule, templateClassRule]);

/**
 * Returns the errors in the spec of a MachineDeployment. The caller must first call `defaultMachineDeployment` if the
 * object may lack default values.
 *
 * Also refuses specs with which the original crashes or loops endlessly, such as percentages above 100 %.
 */
export const validateMachineDeployment = (object: unknown): FieldError[] =>
  specErrors(object, machineDeploymentSpecSchema, [...strategyRules, selectorRule, templateClassRule]);

const classForm = machineClassSchema.omit({ apiVersion: true, kind: true, metadata: true });

const capacityView = z.object({ nodeTemplate: z.object({ capacity: z.record(z.string(), z.unknown()) }) });

const capacityRule: Rule = rule(capacityView, ({ nodeTemplate }) =>
  ['cpu', 'gpu', 'memory']
    .filter((resource) => !Object.hasOwn(nodeTemplate.capacity, resource))
    .map((resource) => required(`nodeTemplate.capacity.${resource}`, 'must be set; gpu may be "0"')),
);

/** Returns the errors in a MachineClass. The driver checks `providerSpec`. */
export function validateMachineClass(object: unknown): FieldError[] {
  return [...formErrors(classForm, object, ''), ...capacityRule(object)];
}
