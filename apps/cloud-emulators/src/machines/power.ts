/** The properties of a VM that the simulated operating system reads. */
export interface PoweredVm {
  readonly id: string;
  readonly hostname: string;
  readonly providerId: string;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  readonly userData: string;
  readonly createdAt: string;
}

/** Functions that the emulator calls when a VM is powered on or off. */
export interface Power {
  /** @param resumed Whether the VM was already running before the emulator restarted */
  on(vm: PoweredVm, resumed: boolean): void;
  off(id: string): void;
  /** If `halt` is undefined, VMs have no simulated operating system. */
  halt?(id: string): void;
  /** If `notice` is undefined, VMs have no agent that reads notices. */
  notice?(id: string, text: string): void;
  /** Returns the newest part of the console output of a VM. If `console` is undefined, VMs have no console output. */
  console?(id: string): string;
}

/** For VMs without a simulated operating system, does nothing when a VM is powered on or off. */
export const noPower: Power = { on: () => undefined, off: () => undefined };
