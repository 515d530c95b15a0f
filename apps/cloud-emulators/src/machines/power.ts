/** The properties of a VM that its simulated operating system uses. */
export interface PoweredVm {
  readonly id: string;
  /** The host name of the operating system. */
  readonly hostname: string;
  readonly providerId: string;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  /** The decoded user data of the VM. */
  readonly userData: string;
  /** Creation time of the VM, RFC 3339. */
  readonly createdAt: string;
}

/** The functions that the emulator calls when VMs are powered on or off. */
export interface Power {
  /** @param resumed Whether the VM already ran before a restart of the emulator */
  on(vm: PoweredVm, resumed: boolean): void;
  off(id: string): void;
  /**
   * Called when a VM is stopped. A stopped VM keeps its disk. If `halt` is absent, VMs have no simulated operating
   * system.
   */
  halt?(id: string): void;
  /**
   * Called when the metadata service of a VM reports an interruption. If `notice` is absent, VMs have no agent that
   * reads notices.
   */
  notice?(id: string, text: string): void;
  /** Returns the newest part of the console output of a VM. If `console` is absent, VMs have no console. */
  console?(id: string): string;
}

/** Powers VMs that have no simulated operating system. */
export const noPower: Power = { on: () => undefined, off: () => undefined };
