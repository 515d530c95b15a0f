import type { Machine, MachineClass } from '@mcm/api';
import { makeKey, refusalOf } from '@mcm/kube';
import type { z } from 'zod';
import { MachineError } from '../../contract/errors.ts';
import { type ClassSecrets, readSecrets, secretKeysOf } from '../../schemas/credentials.ts';
import { declaredKeys } from '../../schemas/unknown-fields.ts';
import type { InvokerCaches } from './invoker-api.ts';

export interface ClassLookup {
  readonly classOf: (machine: Machine) => MachineClass | undefined;
  /** @throws MachineError with the reason why the class of the machine cannot be found */
  readonly classOrThrow: (machine: Machine) => MachineClass;
  readonly secretsOf: (machineClass: MachineClass) => ClassSecrets;
  readonly secretsOfMachine: (machine: Machine) => ClassSecrets;
  /**
   * Returns the Secrets if they can be used. The caller must call `usable` before the schema validation, because a
   * missing Secret also causes schema errors.
   * @throws MachineError about the Secrets
   */
  readonly usable: (found: ClassSecrets) => ClassSecrets;
}

/** Finds the classes and Secrets in the caches. */
export function lookupOf(caches: InvokerCaches, credentialsSchema: z.ZodType): ClassLookup {
  const declared = declaredKeys(credentialsSchema);
  const classOf = (machine: Machine): MachineClass | undefined =>
    caches.classes.store.get(makeKey(machine.metadata.namespace, machine.spec.class.name ?? ''));
  const secretsOf = (machineClass: MachineClass): ClassSecrets =>
    readSecrets(
      machineClass,
      secretKeysOf(machineClass),
      (key) => caches.secrets.store.get(key),
      (key) => declared?.has(key) ?? true,
    );

  const secretsOfMachine = (machine: Machine): ClassSecrets => {
    const machineClass = classOf(machine);
    if (machineClass) return secretsOf(machineClass);
    return { data: {}, hidden: {}, problems: [`MachineClass ${machine.spec.class.name ?? ''} does not exist`] };
  };

  const usable = (found: ClassSecrets): ClassSecrets => {
    if (found.problems.length === 0) return found;
    const unseen = refusalOf(caches.secrets);
    if (unseen !== undefined) throw new MachineError('Unavailable', `cannot read the Secrets of the class: ${unseen}`);
    throw new MachineError('InvalidArgument', found.problems.join('; '));
  };

  const classOrThrow = (machine: Machine): MachineClass => {
    if (!machine.spec.class.name)
      throw new MachineError(
        'InvalidArgument',
        'spec.class.name: is empty; write the name of a MachineClass in the same namespace',
      );
    const found = classOf(machine);
    if (found) return found;
    const unseen = refusalOf(caches.classes);
    if (unseen !== undefined) {
      const message = `cannot read MachineClass "${machine.spec.class.name}": ${unseen}`;
      throw new MachineError('Unavailable', message);
    }
    throw new MachineError(
      'InvalidArgument',
      `spec.class.name: MachineClass "${machine.spec.class.name ?? ''}" does not exist in namespace ${machine.metadata.namespace}; create the class, or set the name of an existing class`,
    );
  };

  return { classOf, classOrThrow, secretsOf, secretsOfMachine, usable };
}
