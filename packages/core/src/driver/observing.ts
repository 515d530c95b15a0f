import { type Machine, machines } from '@mcm/api';
import { makeKey, type ObserveLedger } from '@mcm/kube';
import type { DriverDefinition } from './define-driver.ts';
import { MachineError } from './errors.ts';

/** A driver that looks at the cloud as the one it is given and changes nothing there: each change is noted and fails. */
export function observingDriver<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  ledger: ObserveLedger,
): DriverDefinition<Spec, Credentials> {
  const refuse = (verb: 'create' | 'initialize' | 'delete', { metadata }: Machine): never => {
    const { namespace, name, uid } = metadata;
    ledger.want({
      what: `${verb} vm`,
      resource: machines.plural,
      object: makeKey(namespace, name),
      content: uid,
      // Made: the machine has its id. Deleted: the machine may go.
      done: (seen, deleted) =>
        seen.metadata.uid === uid &&
        (verb === 'delete'
          ? deleted
          : 'spec' in seen && typeof seen.spec === 'object' && seen.spec !== null && 'providerID' in seen.spec),
    });
    throw new MachineError('Aborted', `${verb} of the VM of machine ${name} is not sent: --observe-only`);
  };
  return {
    ...driver,
    create: async ({ machine }) => refuse('create', machine),
    delete: async ({ machine }) => refuse('delete', machine),
    ...(driver.initialize ? { initialize: async ({ machine }) => refuse('initialize', machine) } : {}),
  };
}
