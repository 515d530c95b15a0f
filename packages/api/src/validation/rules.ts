import * as z from 'zod';
import { optional } from '../kinds/fields.ts';
import { requirementHolds } from '../kinds/label-selector.ts';
import { labelSelectorSchema, templateMetadataSchema } from '../kinds/shared.ts';
import { type FieldError, invalid, type Rule, required, rule } from './field-error.ts';

const classView = z.object({ kind: z.string(), name: z.string() }).partial();

function classErrors(path: string, reference: z.infer<typeof classView>): FieldError[] {
  const errors: FieldError[] = [];
  if (reference.kind === '') {
    errors.push(required(`${path}.kind`, 'must not be empty: the kind of the class, such as MachineClass'));
  }
  if (reference.name === '') {
    errors.push(required(`${path}.name`, 'must not be empty: the name of a MachineClass in the same namespace'));
  }
  return errors;
}

export const machineClassRule: Rule = rule(z.object({ class: classView }), (spec) =>
  classErrors('spec.class', spec.class),
);

export const templateClassRule: Rule = rule(
  z.object({ template: z.object({ spec: z.object({ class: classView }) }) }),
  ({ template }) => classErrors('spec.template.spec.class', template.spec.class),
);

const selectorView = z.object({
  selector: labelSelectorSchema,
  template: z.object({ metadata: optional(templateMetadataSchema) }),
});

/** If the selector did not match the labels of the template, the controller would create more and more machines. */
export const selectorRule: Rule = rule(selectorView, ({ selector, template }) => {
  const labels = template.metadata?.labels;
  const errors: FieldError[] = [];
  const missing = Object.entries(selector.matchLabels ?? {}).find(([key, value]) => labels?.[key] !== value);
  if (missing) {
    const [key, value] = missing;
    const message = `must match the template: spec.template.metadata.labels needs ${key}: "${value}"`;
    errors.push(required('spec.selector.matchLabels', message));
  }
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    const path = `spec.selector.matchExpressions[${index}]`;
    const takesValues = requirement.operator === 'In' || requirement.operator === 'NotIn';
    const hasValues = (requirement.values ?? []).length > 0;
    if (takesValues && !hasValues) {
      errors.push(required(`${path}.values`, `must contain at least one value for ${requirement.operator}`));
    } else if (!takesValues && hasValues) {
      errors.push(invalid(`${path}.values`, `must be empty for ${requirement.operator}`));
    } else if (!requirementHolds(requirement, labels)) {
      errors.push(invalid(path, 'must match spec.template.metadata.labels'));
    }
  }
  return errors;
});
