import { Annotations, type MachineClass } from '@mcm/api';

/** A copy is kept up to this many characters: annotations of one object may hold 256 kB. */
const MAX_LENGTH = 64 * 1024;

/**
 * The provider spec that a class had when it last made sense. Machines of a class that was made invalid can so be looked
 * up and deleted as before; none is made. In memory as long as the class is valid, in an annotation of the class while it
 * is not, so that it outlives the process.
 */
export class FormerSpecs {
  readonly #byUid = new Map<string, MachineClass['providerSpec']>();

  /** The class makes sense as it is. */
  note({ metadata, providerSpec }: MachineClass): void {
    this.#byUid.set(metadata.uid, providerSpec);
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }

  /** The class with its former spec; undefined when none is known. */
  of(machineClass: MachineClass): MachineClass | undefined {
    const { uid, annotations } = machineClass.metadata;
    const providerSpec = this.#byUid.get(uid) ?? parsed(annotations?.[Annotations.FormerProviderSpec]);
    return providerSpec === undefined ? undefined : { ...machineClass, providerSpec };
  }

  /** What the annotation of a class is to be: null for none, undefined when it is as it should be. */
  annotationFor(machineClass: MachineClass, isValid: boolean): string | null | undefined {
    const kept = machineClass.metadata.annotations?.[Annotations.FormerProviderSpec];
    if (isValid) return kept === undefined ? undefined : null;
    const former = this.#byUid.get(machineClass.metadata.uid);
    if (former === undefined) return undefined;
    const text = JSON.stringify(former);
    return text === kept || text.length > MAX_LENGTH ? undefined : text;
  }
}

/** What somebody wrote there by hand may be anything: the driver's schema judges it. */
function parsed(text: string | undefined): MachineClass['providerSpec'] | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as MachineClass['providerSpec'];
  } catch {
    return undefined; // No record at all.
  }
}
