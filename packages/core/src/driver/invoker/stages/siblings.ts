import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { MachineRequest } from '../../contract/driver.ts';
import { MachineError } from '../../contract/errors.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import { decodeInput } from '../../schemas/decode.ts';
import type { DriverCall, DriverDefinition } from '../../schemas/define-driver.ts';
import { redact } from '../../secrets/redact.ts';
import type { ClassLookup } from '../api/class-lookup.ts';
import type { DecodedCall, Stage } from './call.ts';
import { scrub } from './scrub.ts';

export interface SiblingOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly lookup: Pick<ClassLookup, 'secretsOf' | 'usable'>;
  readonly fallback: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  readonly log: Logger;
}

const REPEATED: ReadonlySet<DriverCall> = new Set(['status', 'delete']);

/**
 * If the cloud refuses the credentials, the stage repeats the call with the credentials of another class. A user may
 * write new credentials only to newer classes (incident 28). The credentials of another class may belong to another
 * account, so mcm uses these credentials only if they find the VM.
 */
export const siblingStage =
  <Spec, Credentials>(options: SiblingOptions<Spec, Credentials>): Stage<DecodedCall<Spec, Credentials>> =>
  async (call, next) => {
    const { name, machine, request } = call;
    if (!machine || !REPEATED.has(name)) return next(call);
    try {
      return await next(call);
    } catch (thrown) {
      const refused = MachineError.from(thrown);
      if (!refused.credentialsRefused || !options.driver.status || request.signal.aborted) throw refused;
      const sibling = await findSibling(options, { ...request, machine });
      if (!sibling) throw refused;
      return await next({ ...call, ...sibling }).catch((failed: unknown) => {
        // The outer stage removes only the Secrets of the machine's own class from the error, so this stage removes the
        // Secrets of the other class.
        const error = MachineError.from(failed);
        throw scrub(error, sibling.secrets.hidden, undefined, error);
      });
    }
  };

async function findSibling<Spec, Credentials>(
  { driver, fallback, lookup, log }: SiblingOptions<Spec, Credentials>,
  request: MachineRequest<Spec, Credentials>,
): Promise<{ readonly request: MachineRequest<Spec, Credentials>; readonly secrets: ClassSecrets } | undefined> {
  const { machine, machineClass } = request;
  for (const other of fallback?.(machine, machineClass) ?? []) {
    const secrets = lookup.secretsOf(other);
    try {
      const input = { call: 'status', machineClass: other, data: lookup.usable(secrets).data, machine } as const;
      const attempt = { ...request, credentials: decodeInput(driver, input).credentials };
      await driver.status?.(attempt);
      const fields = { machine: machine.metadata.name, class: machineClass.metadata.name, by: other.metadata.name };
      log.warn('Cloud refused the credentials of the class; using the credentials of another class', fields);
      return { request: attempt, secrets };
    } catch (thrown) {
      if (request.signal.aborted) throw thrown;
      const error = redact(MachineError.from(thrown).message, secrets.hidden);
      log.debug('Cloud refused the credentials of another class for the VM', { class: other.metadata.name, error });
    }
  }
  return undefined;
}
