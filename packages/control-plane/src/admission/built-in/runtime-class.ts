import { forbidden } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, items, labels, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { lookup } from './lookup.ts';

function covers(wide: Plain, narrow: Plain): boolean {
  const same = (field: string): boolean => text(wide, field) === text(narrow, field);
  if (text(wide, 'key') !== '' && !same('key')) return false;
  if (text(wide, 'effect') !== '' && !same('effect')) return false;
  const { tolerationSeconds: limit } = wide;
  if (wide.effect === 'NoExecute' && limit !== undefined) {
    if (narrow.tolerationSeconds === undefined || Number(limit) < Number(narrow.tolerationSeconds)) return false;
  }
  if (text(wide, 'operator') === 'Exists') return true;
  return text(narrow, 'operator') !== 'Exists' && same('value');
}

/** As in `MergeTolerations` of Kubernetes, the merged list omits each toleration that another toleration covers. */
function merged(first: readonly Plain[], second: readonly Plain[]): Plain[] {
  const all = [...first, ...second];
  return all.filter((one, index) => {
    const covered = all.some((other, position) => {
      if (position === index || !covers(other, one)) return false;
      return position < index || !covers(one, other);
    });
    return !covered;
  });
}

const isNewPod = ({ served, subresource, operation }: AdmissionAttributes): boolean =>
  served.resource === '/pods' && subresource === '' && operation === 'CREATE';

/** The plugin adds the overhead and the scheduling constraints of a RuntimeClass to its pods. */
export function runtimeClassAdmission(registry: Registry): AdmissionPlugin {
  const refuse = ({ served, name, object }: AdmissionAttributes, why: string): never => {
    throw forbidden(served.kind, name || (object?.metadata.name ?? ''), why);
  };

  const classOf = (attributes: AdmissionAttributes, pod: ApiObject): ApiObject | undefined => {
    const name = look(pod, 'spec').runtimeClassName;
    if (typeof name !== 'string') return undefined;
    const found = lookup(registry, 'node.k8s.io/v1', 'RuntimeClass', '', name);
    return found ?? refuse(attributes, `pod rejected: RuntimeClass "${name}" not found`);
  };

  const place = (attributes: AdmissionAttributes, spec: Plain, scheduling: Plain): void => {
    const selector = labels(spec, 'nodeSelector');
    for (const [key, value] of Object.entries(labels(scheduling, 'nodeSelector'))) {
      if (Object.hasOwn(selector, key) && selector[key] !== value) {
        const [own, asked] = [`runtimeClass.scheduling.nodeSelector[${key}]`, `pod.spec.nodeSelector[${key}]`];
        refuse(attributes, `conflict: ${own} = ${value}; ${asked} = ${selector[key]}`);
      }
      selector[key] = value;
    }
    if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
    const tolerations = merged(items(spec, 'tolerations'), copyJson(items(scheduling, 'tolerations')));
    if (tolerations.length > 0) spec.tolerations = tolerations;
  };

  return {
    name: 'RuntimeClass',
    admit(attributes) {
      const { object: pod } = attributes;
      if (pod === undefined || !isNewPod(attributes)) return undefined;
      const runtimeClass = classOf(attributes, pod);
      const spec = child(pod, 'spec');
      const { podFixed } = look(runtimeClass, 'overhead');
      if (isRecord(podFixed)) {
        if (isRecord(spec.overhead) && !jsonEquals(spec.overhead, podFixed)) {
          refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
        }
        spec.overhead = copyJson(podFixed);
      }
      if (isRecord(runtimeClass?.scheduling)) place(attributes, spec, runtimeClass.scheduling);
      return undefined;
    },
    validate(attributes) {
      const { object: pod } = attributes;
      if (pod === undefined || !isNewPod(attributes)) return undefined;
      const wanted = look(classOf(attributes, pod), 'overhead').podFixed;
      const { overhead } = look(pod, 'spec');
      if (wanted === undefined && overhead !== undefined) {
        refuse(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
      }
      if (wanted !== undefined && !jsonEquals(wanted, overhead)) {
        refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
      }
      return undefined;
    },
  };
}
