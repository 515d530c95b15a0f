export interface PackageIn {
  readonly name: string;
  readonly folder: string;
}
