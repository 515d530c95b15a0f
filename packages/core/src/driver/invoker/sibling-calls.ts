import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { MachineRequest } from '../contract/driver.ts';
import { MachineError } from '../contract/errors.ts';
import { decodeInput } from '../schemas/decode.ts';
import type { DriverDefinition } from '../schemas/define-driver.ts';
import { redact } from '../secrets/redact.ts';
import type { ClassLookup } from './class-lookup.ts';
import { isRefusal } from './fallback.ts';

export interface SiblingCallOptions<Spec, Credentials> extends Pick<ClassLookup, 'secretsOf' | 'usable'> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** Classes whose credentials may reach the VM; absent: none is tried. */
  readonly fallback: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  readonly log: Logger;
}

/** Makes a call with the credentials of the machine's class, or those of another. */
export function createSiblingCalls<Spec, Credentials>({
  driver,
  fallback,
  secretsOf,
  usable,
  log,
}: SiblingCallOptions<Spec, Credentials>) {
  /**
   * A user may exchange the credentials and put the new ones only into newer classes (incident 28). If the cloud refuses
   * those of the machine's class, the call is repeated with those of a class that can see the VM. Credentials of another
   * account cannot see the VM, so their answers do not count.
   */
  const orByOthers = async <T>(
    base: MachineRequest<Spec, Credentials>,
    call: (base: MachineRequest<Spec, Credentials>) => Promise<T>,
  ): Promise<T> => {
    try {
      return await call(base);
    } catch (thrown) {
      const refused = MachineError.from(thrown);
      if (!isRefusal(refused) || !driver.status || base.signal.aborted) throw refused;
      const other = await visibleBy(base);
      if (!other) throw refused;
      return call(other);
    }
  };

  const visibleBy = async (
    base: MachineRequest<Spec, Credentials>,
  ): Promise<MachineRequest<Spec, Credentials> | undefined> => {
    const { machine, machineClass } = base;
    for (const other of fallback?.(machine, machineClass) ?? []) {
      const secrets = secretsOf(other);
      try {
        const { credentials } = decodeInput(driver, {
          call: 'status',
          machineClass: other,
          data: usable(secrets).data,
          machine,
        });
        const attempt = { ...base, credentials };
        await driver.status?.(attempt);
        const fields = { machine: machine.metadata.name, class: machineClass.metadata.name, by: other.metadata.name };
        log.warn('Credentials of the class refused; using those of another class', fields);
        return attempt;
      } catch (thrown) {
        if (base.signal.aborted) throw thrown;
        const error = redact(MachineError.from(thrown).message, secrets.hidden);
        log.debug('Credentials of another class do not work for the VM', { class: other.metadata.name, error });
      }
    }
    return undefined;
  };

  return orByOthers;
}
