import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, text } from '../../../apimachinery/objects/plain.ts';
import { type Api, allowing } from '../../client/api.ts';
import { VOLUMES } from '../../client/resources.ts';
import type { Recorder } from '../../events/events.ts';
import { phaseOf } from '../../objects/fields.ts';
import type { BindingWriter } from './bind.ts';
import { DELETION_FINALIZER, HOST_PATH, isExternal, PROVISIONED_BY } from './provision.ts';

export interface Reclaiming {
  readonly api: Api;
  readonly writer: BindingWriter;
  readonly tell: Recorder;
  readonly users: (volume: ApiObject) => readonly string[];
}

const policyOf = (volume: ApiObject): string => text(look(volume, 'spec'), 'persistentVolumeReclaimPolicy');

export async function reclaim(tools: Reclaiming, volume: ApiObject): Promise<void> {
  const { writer, tell } = tools;
  const released =
    phaseOf(volume) === 'Released' || phaseOf(volume) === 'Failed' ? volume : await writer.setPhase(volume, 'Released');
  if (released === undefined) return;
  const fail = async (reason: string, why: string): Promise<void> => {
    if (phaseOf(released) === 'Failed') return;
    if ((await writer.setPhase(released, 'Failed', why)) !== undefined) tell(released, 'Warning', reason, why);
  };
  if (policyOf(released) === 'Recycle') return recycle(tools, released, fail);
  if (policyOf(released) === 'Delete') return remove(tools, released, fail);
}

type Fail = (reason: string, why: string) => Promise<void>;

/**
 * Recycles a volume. kube-controller-manager runs a pod that empties the directory. No kubelet runs in this control
 * plane, so the directory counts as empty.
 */
async function recycle({ writer, tell, users }: Reclaiming, volume: ApiObject, fail: Fail): Promise<void> {
  const pods = users(volume);
  if (pods.length > 0) {
    return tell(volume, 'Normal', 'VolumeFailedRecycle', `Volume is used by pods: ${pods.join(',')}`);
  }
  const { hostPath, nfs } = look(volume, 'spec');
  if (hostPath === undefined && nfs === undefined) {
    return fail('VolumeFailedRecycle', 'No recycler plugin found for the volume!');
  }
  tell(volume, 'Normal', 'VolumeRecycled', 'Volume recycled');
  return writer.unbind(volume);
}

/** External provisioners delete their volumes themselves. */
async function remove({ api, writer }: Reclaiming, volume: ApiObject, fail: Fail): Promise<void> {
  const { annotations = {}, finalizers = [], name = '', resourceVersion } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY] ?? '';
  const { csi, hostPath } = look(volume, 'spec');
  if (provisioner === '' ? csi !== undefined : isExternal(provisioner)) return;
  if (provisioner !== '' && provisioner !== HOST_PATH) {
    return fail('VolumeFailedDelete', `no volume plugin matched name: ${provisioner}`);
  }
  if (hostPath === undefined) {
    const why = `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`;
    return fail('VolumeFailedDelete', why);
  }
  const path = text(look({ hostPath }, 'hostPath'), 'path');
  if (!/\/tmp\/.+/.test(path)) {
    return fail('VolumeFailedDelete', `host_path deleter only supports /tmp/.+ but received provided ${path}`);
  }
  if (finalizers.includes(DELETION_FINALIZER)) {
    const kept = finalizers.filter((one) => one !== DELETION_FINALIZER);
    const patch = { metadata: { resourceVersion, finalizers: kept.length === 0 ? null : kept } };
    if ((await writer.patchVolume(volume, patch)) === undefined) return;
  }
  await allowing(api.delete(VOLUMES, { name }), 404, 409);
}

/**
 * Returns the new finalizers of a volume, or undefined for no change. A volume with the policy `Delete` has the
 * finalizer.
 */
export function finalizersOf(volume: ApiObject): readonly string[] | undefined {
  const { annotations = {}, finalizers = [] } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY];
  if (provisioner === undefined || isExternal(provisioner)) return undefined;
  const wanted = policyOf(volume) === 'Delete';
  if (wanted === finalizers.includes(DELETION_FINALIZER)) return undefined;
  return wanted ? [...finalizers, DELETION_FINALIZER] : finalizers.filter((one) => one !== DELETION_FINALIZER);
}
