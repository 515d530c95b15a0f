import { Annotations, type MachineClass } from '@mcm/api';

/** The longest copy, in characters. All annotations of an object may have 256 kB. */
const MAX_LENGTH = 64 * 1024;

/**
 * The last valid provider spec of a class. With it, machines of a class that became invalid can be looked up and
 * deleted. No machine is created with it. It is kept in memory while the class is valid, and in an annotation of the
 * class while it is not, so that it outlives the process.
 */
export class FormerSpecs {
  readonly #byUid = new Map<string, MachineClass['providerSpec']>();

  /** The class is valid. */
  note({ metadata, providerSpec }: MachineClass): void {
    this.#byUid.set(metadata.uid, providerSpec);
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }

  /** The class with its former spec; undefined if none is known. */
  of(machineClass: MachineClass): MachineClass | undefined {
    const { uid, annotations } = machineClass.metadata;
    const providerSpec = this.#byUid.get(uid) ?? parsed(annotations?.[Annotations.FormerProviderSpec]);
    return providerSpec === undefined ? undefined : { ...machineClass, providerSpec };
  }

  /** The value of the annotation: null for none, undefined for no change. */
  annotationFor(machineClass: MachineClass, isValid: boolean): string | null | undefined {
    const kept = machineClass.metadata.annotations?.[Annotations.FormerProviderSpec];
    if (isValid) return kept === undefined ? undefined : null;
    const former = this.#byUid.get(machineClass.metadata.uid);
    if (former === undefined) return undefined;
    const text = JSON.stringify(former);
    return text === kept || text.length > MAX_LENGTH ? undefined : text;
  }
}

/** A user may have written any value. The driver's schema validates it. */
function parsed(text: string | undefined): MachineClass['providerSpec'] | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as MachineClass['providerSpec'];
  } catch {
    return undefined; // No record at all.
  }
}
