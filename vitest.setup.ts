import * as fc from 'fast-check';

// Every run of a property test generates the same input, so that only a change of the code can break a test. To
// generate other input, set `MCM_PROPERTY_SEED=$RANDOM`.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.MCM_PROPERTY_SEED ?? 20260101) });
