/** The properties of a VM that its simulated system uses. */
export interface PoweredVm {
  readonly id: string;
  /** The name of its operating system. */
  readonly hostname: string;
  readonly providerId: string;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  /** The decoded user data of the VM. */
  readonly userData: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Called when the VMs of a cloud are powered on or off. */
export interface Power {
  /** @param resumed Whether the VM already ran before the emulator restarted */
  on(vm: PoweredVm, resumed: boolean): void;
  off(id: string): void;
  /** The VM is stopped, and keeps its disk. If absent, VMs have no simulated system. */
  halt?(id: string): void;
  /** The metadata service of a VM reports an interruption. If absent, VMs have no agent that reads it. */
  notice?(id: string, text: string): void;
  /** The newest part of the console output of a VM. If absent, VMs have no console. */
  console?(id: string): string;
}

/** VMs without a simulated system. */
export const noPower: Power = { on: () => undefined, off: () => undefined };
