import { Annotations, type MachineClass } from '@mcm/api';

/**
 * mcm copies a provider spec to an annotation only up to this length. All annotations of an object together may have at
 * most 256 kB.
 */
const MAX_LENGTH = 64 * 1024;

/**
 * If a class becomes invalid, mcm uses its last valid provider spec to look up and delete the machines of the class. An
 * annotation of the class contains its last valid provider spec, so that a restart of mcm does not lose the spec.
 */
export class FormerSpecs {
  readonly #byUid = new Map<string, MachineClass['providerSpec']>();

  note({ metadata, providerSpec }: MachineClass): void {
    this.#byUid.set(metadata.uid, providerSpec);
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }

  of(machineClass: MachineClass): MachineClass | undefined {
    const { uid, annotations } = machineClass.metadata;
    const providerSpec = this.#byUid.get(uid) ?? parsed(annotations?.[Annotations.FormerProviderSpec]);
    return providerSpec === undefined ? undefined : { ...machineClass, providerSpec };
  }

  /** Returns the new value of the annotation, null to remove it, or undefined to keep it. */
  annotationFor(machineClass: MachineClass, isValid: boolean): string | null | undefined {
    const kept = machineClass.metadata.annotations?.[Annotations.FormerProviderSpec];
    if (isValid) return kept === undefined ? undefined : null;
    const former = this.#byUid.get(machineClass.metadata.uid);
    if (former === undefined) return undefined;
    const text = JSON.stringify(former);
    return text === kept || text.length > MAX_LENGTH ? undefined : text;
  }
}

/** Users can write any value, so the schema of the driver validates the result later. */
function parsed(text: string | undefined): MachineClass['providerSpec'] | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as MachineClass['providerSpec'];
  } catch {
    return undefined;
  }
}
