import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { MachineRequest } from '../contract/driver.ts';
import { MachineError } from '../contract/errors.ts';
import type { ClassSecrets } from '../schemas/credentials.ts';
import { decodeInput } from '../schemas/decode.ts';
import type { DriverDefinition } from '../schemas/define-driver.ts';
import { redact } from '../secrets/redact.ts';
import type { ClassLookup } from './api/class-lookup.ts';
import { isRefusal } from './fallback.ts';
import { scrub } from './stages/scrub.ts';

export interface MachineCall<Spec, Credentials> {
  readonly request: MachineRequest<Spec, Credentials>;
  readonly secrets: ClassSecrets;
}

export interface SiblingCallOptions<Spec, Credentials> extends Pick<ClassLookup, 'secretsOf' | 'usable'> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly fallback: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  readonly log: Logger;
}

/** If the cloud refuses the credentials, the function repeats the request with the credentials of another class. */
export function createSiblingCalls<Spec, Credentials>(options: SiblingCallOptions<Spec, Credentials>) {
  /**
   * A user may write new credentials only to newer classes (incident 28). The other credentials may belong to another
   * account, so they are used only if they find the VM.
   */
  return async <T>(
    { request }: MachineCall<Spec, Credentials>,
    work: (request: MachineRequest<Spec, Credentials>) => Promise<T>,
  ): Promise<T> => {
    try {
      return await work(request);
    } catch (thrown) {
      const refused = MachineError.from(thrown);
      if (!isRefusal(refused) || !options.driver.status || request.signal.aborted) throw refused;
      const sibling = await findSibling(options, request);
      if (!sibling) throw refused;
      return await work(sibling.request).catch((failed: unknown) => {
        // The caller removes only the Secrets of the machine's own class from the error, so this function removes the
        // Secrets of the other class.
        const error = MachineError.from(failed);
        throw scrub(error, sibling.secrets.hidden, undefined, error);
      });
    }
  };
}

async function findSibling<Spec, Credentials>(
  { driver, fallback, secretsOf, usable, log }: SiblingCallOptions<Spec, Credentials>,
  request: MachineRequest<Spec, Credentials>,
): Promise<MachineCall<Spec, Credentials> | undefined> {
  const { machine, machineClass } = request;
  for (const other of fallback?.(machine, machineClass) ?? []) {
    const secrets = secretsOf(other);
    try {
      const input = { call: 'status', machineClass: other, data: usable(secrets).data, machine } as const;
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
