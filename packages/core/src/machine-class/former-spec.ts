import { Annotations, type MachineClass } from '@mcm/api';

/** All annotations of an object together may have 256 kB, so a longer provider spec is not copied. */
const MAX_LENGTH = 64 * 1024;

/**
 * If a class becomes invalid, mcm uses its last valid provider spec to look up and delete the machines of the class.
 * While the class is invalid, an annotation of the class contains this provider spec, which would otherwise be lost at
 * a restart.
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

  /** The value null removes the annotation, and undefined leaves the annotation unchanged. */
  annotationFor(machineClass: MachineClass, isValid: boolean): string | null | undefined {
    const kept = machineClass.metadata.annotations?.[Annotations.FormerProviderSpec];
    if (isValid) return kept === undefined ? undefined : null;
    const former = this.#byUid.get(machineClass.metadata.uid);
    if (former === undefined) return undefined;
    const text = JSON.stringify(former);
    return text === kept || text.length > MAX_LENGTH ? undefined : text;
  }
}

/** A user may have written any value, so the schema of the driver validates the result later. */
function parsed(text: string | undefined): MachineClass['providerSpec'] | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as MachineClass['providerSpec'];
  } catch {
    return undefined;
  }
}
