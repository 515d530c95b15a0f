import * as z from 'zod';
import { machineSpecSchema } from '../kinds/machine.ts';
import { machineClassSchema } from '../kinds/machine-class.ts';
import { machineDeploymentSpecSchema } from '../kinds/machine-deployment.ts';
import { machineSetSpecSchema } from '../kinds/machine-set.ts';
import { type FieldError, formErrors, invalid, type Rule, required, rule, specErrors } from './field-error.ts';
import { machineClassRule, selectorRule, templateClassRule } from './rules.ts';
import { strategyRules } from './strategy-rules.ts';

/**
 * The errors of the name and spec of a Machine; empty for a valid Machine. Unknown fields, status and the rest of
 * the metadata are not looked at: the API server does that.
 */
export function validateMachine(object: unknown): FieldError[] {
  return [...nameRule(object), ...specErrors(object, machineSpecSchema, [machineClassRule])];
}

const nameRule: Rule = rule(z.object({ metadata: z.object({ name: z.string() }) }), ({ metadata }) =>
  metadata.name.length > 63
    ? [invalid('metadata.name', 'must be at most 63 characters long: it becomes a label value on the Node')]
    : [],
);

/** The errors of the spec of a MachineSet; empty for a valid spec. */
export const validateMachineSet = (object: unknown): FieldError[] =>
  specErrors(object, machineSetSpecSchema, [selectorRule, templateClassRule]);

/**
 * The errors of the spec of a MachineDeployment; empty for a valid spec. Defaults are not assumed:
 * pass an object through `defaultMachineDeployment` first where the API server may not have set them.
 *
 * In addition to the original's rules, it refuses specs that would crash the original or never end. Examples are a missing
 * selector, a template that does not match it, invalid durations, and budgets that are negative, both zero, or above 100 %.
 */
export const validateMachineDeployment = (object: unknown): FieldError[] =>
  specErrors(object, machineDeploymentSpecSchema, [...strategyRules, selectorRule, templateClassRule]);

const classForm = machineClassSchema.omit({ apiVersion: true, kind: true, metadata: true });

const capacityView = z.object({ nodeTemplate: z.object({ capacity: z.record(z.string(), z.unknown()) }) });

const capacityRule: Rule = rule(capacityView, ({ nodeTemplate }) =>
  ['cpu', 'gpu', 'memory']
    .filter((resource) => !Object.hasOwn(nodeTemplate.capacity, resource))
    .map((resource) => required(`nodeTemplate.capacity.${resource}`, 'must be given; gpu may be "0"')),
);

/** The errors of a MachineClass without `providerSpec`, which the driver checks. Empty for a valid class. */
export function validateMachineClass(object: unknown): FieldError[] {
  return [...formErrors(classForm, object, ''), ...capacityRule(object)];
}
