import * as z from 'zod';
import { type CelRule, optional } from './fields.ts';
import { machineSpecSchema } from './machine.ts';
import { templateMetadataSchema } from './shared.ts';

export const machineTemplateSpecSchema = z
  .object({ metadata: optional(templateMetadataSchema), spec: machineSpecSchema })
  .meta({ description: 'Template for new machines.' });

/** The template for machines. */
export type MachineTemplateSpec = z.infer<typeof machineTemplateSpecSchema>;

const LABELS = 'self.template.metadata.labels';
const HAS_LABELS = 'has(self.template.metadata) && has(self.template.metadata.labels)';
const HAS_KEY = `(${HAS_LABELS} && e.key in ${LABELS})`;
const HAS_VALUES = '(has(e.values) && size(e.values) > 0)';
const LISTED = `(${HAS_KEY} && ${LABELS}[e.key] in e.values)`;

const REQUIREMENT_HOLDS = [
  `(e.operator != 'In' || !${HAS_VALUES} || ${LISTED})`,
  `(e.operator != 'NotIn' || !${HAS_VALUES} || !${LISTED})`,
  `(e.operator != 'Exists' || ${HAS_KEY})`,
  `(e.operator != 'DoesNotExist' || !${HAS_KEY})`,
].join(' && ');

/**
 * The rules for selectors. If a selector did not match the machines of its controller, the controller would create more
 * and more machines.
 */
export const SELECTOR_RULES: readonly CelRule[] = [
  {
    rule: `!has(self.selector.matchLabels) || self.selector.matchLabels.all(k, ${HAS_LABELS} && k in ${LABELS} && ${LABELS}[k] == self.selector.matchLabels[k])`,
    message: 'spec.template.metadata.labels must contain every pair of matchLabels',
    fieldPath: '.selector.matchLabels',
  },
  {
    rule: `!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, ${REQUIREMENT_HOLDS})`,
    message: 'spec.template.metadata.labels must match every requirement of matchExpressions',
    fieldPath: '.selector.matchExpressions',
  },
];
