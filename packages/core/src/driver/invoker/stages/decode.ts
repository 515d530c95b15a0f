import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { DriverRequest } from '../../contract/driver.ts';
import { MachineError } from '../../contract/errors.ts';
import { recordedAlternative, zoneOfferingOf } from '../../offerings/alternative.ts';
import { type AlternativeRules, specWith } from '../../offerings/rules.ts';
import { decodeInput } from '../../schemas/decode.ts';
import type { DecodedInput, DriverDefinition, DriverInput } from '../../schemas/define-driver.ts';
import { redactingLogger } from '../../secrets/redact.ts';
import type { ClassLookup } from '../api/class-lookup.ts';
import type { InvokerOptions } from '../api/invoker-api.ts';
import type { DecodedCall, Stage, TimedCall } from './call.ts';

export interface DecodeOptions<Spec, Credentials>
  extends Pick<InvokerOptions<Spec, Credentials>, 'former' | 'owner' | 'formerOwners' | 'observeApi'> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly lookup: Pick<ClassLookup, 'secretsOf' | 'usable'>;
  readonly log: Logger;
}

export const decodeStage =
  <Spec, Credentials>(options: DecodeOptions<Spec, Credentials>): Stage<TimedCall, DecodedCall<Spec, Credentials>> =>
  async (call, next) => {
    const { name, machine, signal, span } = call;
    const { lookup, formerOwners } = options;
    const machineClass = call.requireClass();
    const secrets = lookup.secretsOf(machineClass);
    call.progress.secrets = secrets;
    const { data } = lookup.usable(secrets);
    const owner = options.owner?.();
    const decoded = decode(options, { call: name, machineClass, data, machine });
    const alternative = call.alternative ?? (machine && recordedAlternative(machine));
    if (name === 'create') checkZone(options.driver.alternatives, decoded.spec, machine);
    const request: DriverRequest<Spec, Credentials> = {
      ...decoded,
      spec: specWith(options.driver.alternatives, decoded.spec, alternative),
      signal,
      owner,
      formerOwners,
      observeApi: (service, ms, error) => {
        options.observeApi?.(service, ms, error);
        span.request(service, ms, error !== undefined);
      },
      log: redactingLogger(
        options.log.with({
          class: machineClass.metadata.name,
          call: name,
          machine: machine?.metadata.name,
        }),
        secrets.hidden,
      ),
    };
    return next({ ...call, request, secrets });
  };

/**
 * Checks whether the provider spec allows the zone of a new machine. If the machine already has a VM, the function does
 * not check the zone.
 * @throws MachineError `InvalidArgument` with the field and the fix
 */
function checkZone<Spec>(rules: AlternativeRules<Spec> | undefined, spec: Spec, machine: Machine | undefined): void {
  const zone = machine && zoneOfferingOf(machine);
  const problem = zone && rules?.problem?.(spec, zone);
  if (problem === undefined) return;
  throw new MachineError('InvalidArgument', `${Annotations.Zones} of the MachineDeployment: ${problem}`);
}

/**
 * If the class became invalid, all calls except `create` use its last valid provider spec. mcm must still be able to
 * delete the machines of an invalid class (incident 27).
 */
function decode<Spec, Credentials>(
  { driver, former }: DecodeOptions<Spec, Credentials>,
  input: DriverInput,
): DecodedInput<Spec, Credentials> & { readonly machineClass: MachineClass } {
  const { machineClass } = input;
  try {
    return { machineClass, ...decodeInput(driver, input) };
  } catch (thrown) {
    const known = input.call === 'create' ? undefined : former?.(machineClass);
    if (!known) throw thrown;
    return { machineClass: known, ...decodeInput(driver, { ...input, machineClass: known }) };
  }
}
