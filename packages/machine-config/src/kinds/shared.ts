import { type LabelSelector, labelSelectorSchema } from '@mcm/api';
import { CONDITION_FIELDS, crd, int64, optional, text } from '@mcm/api/crd';
import * as z from 'zod';

export const selector = (description: string): z.ZodType<LabelSelector, LabelSelector> =>
  crd(labelSelectorSchema, { description, 'x-kubernetes-map-type': 'atomic' });

export const objectReferenceSchema = crd(
  z.object({
    apiVersion: optional(text('apiVersion of the referenced object.')),
    kind: optional(text('Kind of the referenced object.')),
    name: optional(text('Name of the referenced object.')),
    namespace: optional(text('Namespace of the referenced object.')),
    uid: optional(text('UID of the referenced object.')),
    resourceVersion: optional(text('Resource version of the referenced object.')),
    fieldPath: optional(text('Path of a field within the referenced object.')),
  }),
  { 'x-kubernetes-map-type': 'atomic' },
);

/** A reference to an object. */
export type ObjectReference = z.infer<typeof objectReferenceSchema>;

const conditionSchema = z
  .object({ type: text('Type of the condition.'), ...CONDITION_FIELDS })
  .meta({ description: 'A condition.' });

/** A condition of an object in the API group of machine configs. */
export type ConfigCondition = z.infer<typeof conditionSchema>;

export const conditions = (description: string) =>
  optional(crd(z.array(conditionSchema), { description, 'x-kubernetes-list-type': 'atomic' }));

export const observedGeneration = () =>
  optional(int64('Generation of the spec from which the controller derived the status.'));

export const rawObject = (description: string) =>
  crd(z.looseObject({}), { description, 'x-kubernetes-preserve-unknown-fields': true });
