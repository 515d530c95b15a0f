import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, look } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { defaultPod, defaultPodSpec } from './defaults.ts';
import { ephemeralCauses, prepareEphemeral } from './ephemeral.ts';
import { podGracePeriod, preparePod, preparePodUpdate } from './prepare.ts';
import { prepareResize, resizeCauses } from './resize.ts';
import { followAddress, keepGenerations, podStatusCauses, roundStatus } from './status.ts';
import { podUpdateCauses } from './update.ts';
import { podCreateCauses } from './validate.ts';

const UPDATES: Readonly<Record<string, (pod: ApiObject, old: ApiObject) => StatusCause[]>> = {
  '': podUpdateCauses,
  ephemeralcontainers: ephemeralCauses,
  resize: resizeCauses,
  status: podStatusCauses,
};

export const podStrategy: Pick<
  KindDefinition,
  'setDefaults' | 'prepareForCreate' | 'prepareForUpdate' | 'validate' | 'validateUpdate' | 'gracePeriodSeconds'
> = {
  setDefaults(pod) {
    const spec = child(pod, 'spec');
    defaultPodSpec(spec);
    defaultPod(spec);
    const status = look(pod, 'status');
    followAddress(status);
    roundStatus(status);
  },
  prepareForCreate: preparePod,
  prepareForUpdate(pod, old, { subresource }) {
    if (subresource === 'resize') prepareResize(pod, old);
    else if (subresource === 'ephemeralcontainers') prepareEphemeral(pod, old);
    else if (subresource === 'status') keepGenerations(pod, old);
    preparePodUpdate(pod, old, subresource);
  },
  validate: podCreateCauses,
  validateUpdate: (pod, old, { subresource }) => UPDATES[subresource]?.(pod, old) ?? [],
  gracePeriodSeconds: podGracePeriod,
};
