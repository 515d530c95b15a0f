import type { KindDefinition } from '../kind.ts';
import { child } from '../plain.ts';
import { defaultPodSpec } from './defaults.ts';
import { podGracePeriod, preparePod, preparePodUpdate } from './prepare.ts';
import { podUpdateCauses } from './update.ts';
import { podCauses } from './validate.ts';

/** What is done to a pod on its way in. */
export const podStrategy: Pick<
  KindDefinition,
  'setDefaults' | 'prepareForCreate' | 'prepareForUpdate' | 'validate' | 'validateUpdate' | 'gracePeriodSeconds'
> = {
  setDefaults: (pod) => defaultPodSpec(child(pod, 'spec'), false),
  prepareForCreate: preparePod,
  prepareForUpdate: preparePodUpdate,
  validate: podCauses,
  validateUpdate: (pod, old, { subresource }) => (subresource === '' ? podUpdateCauses(pod, old) : []),
  gracePeriodSeconds: podGracePeriod,
};
